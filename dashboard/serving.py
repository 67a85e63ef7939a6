"""Serving: what all requests share, opened when the server starts and closed when it ends."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from dashboard.runs import Runs
from dashboard.security import Principal
from dashboard.sheets import Sheets
from dashboard.work import Work
from retrieval.endpoint import Endpoint
from retrieval.search import Searcher, open_index
from schemas.settings import Settings
from storage.index import Index


@dataclass(frozen=True, slots=True)
class Serving:
    """Threads share the searcher and the index; each search sees the newest version, whole."""

    index: Index
    searcher: Searcher
    settings: Settings
    endpoint: Endpoint | None
    work: Work
    runs: Runs
    sheets: Sheets

    @classmethod
    def open(cls, index: Path, settings: Settings, endpoint: Endpoint | None, work: Work) -> "Serving":
        """Raises `UsageError` when there is no index."""
        opened = Index.open(index)
        runs = Runs(index)
        if settings.schedule.cron:
            runs.start()
        return cls(opened, open_index(index, settings), settings, endpoint, work, runs, Sheets())

    def close(self) -> None:
        self.runs.close()
        self.work.close()
        self.searcher.close()
        self.index.close()


def _of_request(request: Request) -> Serving:
    serving: Serving = request.app.state.serving
    return serving


def _principal(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


Served = Annotated[Serving, Depends(_of_request)]
Asking = Annotated[Principal, Depends(_principal)]
