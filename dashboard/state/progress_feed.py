"""Live: the run that goes on and the orders for others, looked at once a beat for everyone who is told of them."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pincite.dashboard.http.templating import environment
from pincite.dashboard.state.run_requests import RequestedRun
from pincite.dashboard.state.serving import Serving
from pincite.schemas.errors import IndexBusy
from pincite.storage.queries.overview import RunRow, outcomes_of, runs_of
from pincite.storage.snapshots.index import Index

BEAT_S = 1.0  # between two looks at the ledger
MOST_STREAMS = 100
_SHOWN_S = 600.0  # for which an order that is over is still shown
_MOST_ORDERS = 5


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run that goes on. `done` of `known` documents have their outcome."""

    run: RunRow
    outcomes: dict[str, int]

    @property
    def known(self) -> int:
        return sum(self.outcomes.values())

    @property
    def done(self) -> int:
        return self.known - self.outcomes.get("pending", 0) - self.outcomes.get("running", 0)


@dataclass(frozen=True, slots=True)
class Live:
    """What one look saw."""

    progress: RunProgress | None
    orders: tuple[RequestedRun, ...]

    @property
    def run(self) -> str | None:
        return self.progress.run.run_id if self.progress else None


def live_of(served: Serving) -> Live:
    """The run that goes on, and the newest orders that are not over or were asked for a short while ago."""
    now = time.time()
    orders = [one for one in served.runs.orders() if not one.over or now - one.asked_at < _SHOWN_S]
    return Live(progress_of(served.index), tuple(orders[:_MOST_ORDERS]))


def progress_of(index: Index) -> RunProgress | None:
    """The run that goes on, with its documents by outcome."""
    run = next((one for one in runs_of(index, 5) if one.state == "running"), None)
    return None if run is None else RunProgress(run, dict(outcomes_of(index, run.source, run.run_id)))


def live_html(live: Live, operator: bool) -> str:
    """The part of a page; an operator's has buttons."""
    template = environment().get_template("live.html.j2")
    return template.render(operator=operator, progress=live.progress, orders=live.orders)


@dataclass(frozen=True, slots=True)
class Told:
    """One look, as streams tell it."""

    run: str | None
    html: Mapping[bool, str]  # by whether an operator reads it


class Feed:
    """Streams of one event loop share it: however many there are, the ledger is looked at once a beat."""

    def __init__(self, look: Callable[[], Live], beat_s: float = BEAT_S) -> None:
        self._look = look
        self._beat_s = beat_s
        self._lock = asyncio.Lock()
        self._told: Told | None = None
        self._at = 0.0
        self._streams = 0

    async def told(self) -> Told:
        """The last look, or a new one where that is a beat old."""
        async with self._lock:
            if self._told is None or time.monotonic() - self._at >= self._beat_s * 0.9:
                live = await asyncio.to_thread(self._look)
                self._told = Told(live.run, {one: live_html(live, one) for one in (False, True)})
                self._at = time.monotonic()
            return self._told

    def room(self) -> None:
        """Raises `IndexBusy` when too many listen already."""
        if self._streams >= MOST_STREAMS:
            raise IndexBusy(f"{MOST_STREAMS} browsers are told of runs already: load the page again later")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Counts a stream while it is open."""
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1
