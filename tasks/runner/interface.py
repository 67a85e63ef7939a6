"""Runner: what documents of a run are handed out to."""

from collections.abc import Callable, Iterable
from typing import Protocol

Work = Callable[[str], object]
"""Does all of one document, which is named by its id. What it raises is no document's own fault."""


class Runner(Protocol):
    """Works on documents side by side. Another place to work is another class with this one function."""

    def hand_out(self, work: Work, document_ids: Iterable[str], in_flight: int) -> None:
        """Calls `work` once a document, at most `in_flight` at a time, and returns when all calls have ended.

        The first error of a call (a full disk, a broken ledger) stops the handing out and is raised after those in
        flight have ended.
        """
        ...
