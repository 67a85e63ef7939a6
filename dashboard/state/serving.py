"""Serving: what all requests share, opened when the server starts and closed when it ends."""

import logging
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request

from pincite.dashboard.http.access import Principal
from pincite.dashboard.state.run_requests import Runs
from pincite.dashboard.state.thread_pool import Work
from pincite.dashboard.views.page_images import Sheets
from pincite.dashboard.views.passages import page_images
from pincite.dashboard.views.source_files import keep_live_objects
from pincite.retrieval.answers.llm_client import Endpoint
from pincite.retrieval.searcher import Searcher
from pincite.schemas.errors import ModelUnavailable, PinciteError
from pincite.schemas.records import Configuration
from pincite.schemas.settings import Settings, recipe
from pincite.storage.documents.texts import StoredText
from pincite.storage.queries.overview import Overviews
from pincite.storage.snapshots.index import Index
from pincite.tasks.inspection.passage_pages import PassagePage
from pincite.tasks.steps.configuration import configuration, resolved

_logger = logging.getLogger(__name__)

MOST_ANSWERS = 16  # that the endpoint writes at once


@dataclass(frozen=True, slots=True)
class Serving:
    """Threads share the searcher and the index; each search sees the newest version, whole."""

    index: Index
    searcher: Searcher
    settings: Settings
    endpoint: Endpoint | None
    work: Work
    answers: Work  # of those that wait for the answering endpoint, so that no search waits behind them
    runs: Runs
    sheets: Sheets
    overviews: Overviews
    _known: dict[str, Any] = field(default_factory=dict)  # the configuration at a version

    @classmethod
    def open(cls, path: Path, settings: Settings, endpoint: Endpoint | None, work: Work) -> "Serving":
        """Raises `UsageError` when there is no index."""
        opened = Index.open(path)
        answers = Work(MOST_ANSWERS, waiting=0)
        searcher = Searcher(opened, settings)
        overviews = Overviews(opened)
        return cls(opened, searcher, settings, endpoint, work, answers, Runs(str(path)), Sheets(), overviews)

    def current(self) -> Configuration:
        """What documents would be made with now; the space is not compared while the model is not here."""
        version = self.index.newest_version()
        if self._known.get("version") != version:
            self.sheets.keep_live(self.index)  # what was forgotten or replaced is kept no longer
            keep_live_objects(self.index)
            try:
                found = configuration(self.index, self.settings)
            except ModelUnavailable:  # which a search says; by words this server still works
                found = Configuration(recipe(self.settings))
            self._known.update(version=version, configuration=found)
        known: Configuration = self._known["configuration"]
        return known

    def page_images(self, stored: StoredText, start: int, end: int) -> tuple[tuple[PassagePage, ...], str]:
        """As `passages.page_images`; what it downloaded of a forgotten document is gone afterwards."""
        try:
            return page_images(stored, start, end, self.in_time())
        finally:
            keep_live_objects(self.index)

    def in_time(self) -> Settings:
        """Settings with the model of the index, under which a child is done before the request is given up.

        Where the machine gives the child no core it may take longer (`sandbox.pool`): the request ends first then.
        """
        settings = resolved(self.index, self.settings)
        deadline_s = min(settings.limits.deadline_s, self.work.timeout_s * 0.8)
        return replace(settings, limits=replace(settings.limits, deadline_s=deadline_s))

    def load_model(self) -> None:
        """Before the first search needs it. Where it can't be had, searches by words still work, and say so."""
        try:
            self.searcher.embed_queries(["The model is loaded by a first query."])
        except PinciteError as error:
            _logger.warning("no search by meaning: %s", error)

    def close(self) -> None:
        self.runs.close()
        self.work.close()
        self.answers.close()
        self.searcher.close()
        self.overviews.close()
        self.index.close()


# Coroutines: what is no coroutine, FastAPI hands to a thread, which costs a short search as much as its words.
async def _of_request(request: Request) -> Serving:
    serving: Serving = request.app.state.serving
    return serving


async def _principal(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


Served = Annotated[Serving, Depends(_of_request)]
Asking = Annotated[Principal, Depends(_principal)]
