"""Retrying: whether a failure may pass by itself, and how long its document waits for the next attempt."""

import hashlib
from dataclasses import dataclass

FIRST_WAIT_S = 300.0
LONGEST_WAIT_S = 86_400.0
JITTER = 0.25

LOST = "lost"
"""Kind of a document whose run ended while it was worked on."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of another attempt while nothing changes."""

    transient: bool
    why: str


_OUTLOOKS = {
    "unsupported": Outlook(False, "no extractor reads this format"),
    "encrypted": Outlook(False, "the file needs a password"),
    "unreadable": Outlook(False, "the same bytes hold nothing that could be quoted"),
    "limit": Outlook(False, "the same file is over the same limit"),
    "invariant": Outlook(False, "the same file gives the same unfit result"),
    "error": Outlook(False, "an extractor refused the file"),
    "misread": Outlook(True, "the parser was confused, as it also is when the machine is short of something"),
    "unavailable": Outlook(True, "the source may be in reach again"),
    "unfit": Outlook(False, "neither a name nor the kind of a thing changes by itself"),
    "changed": Outlook(True, "the file may be at rest by then"),
    "crashed": Outlook(True, "a crash may have come from the machine's load"),
    "deadline": Outlook(True, "the machine may be less busy"),
    "memory limit": Outlook(True, "another order of documents leaves other memory"),
    "ocr-unavailable": Outlook(True, "tesseract or the language may be installed by then"),
    LOST: Outlook(True, "the run may have been ended from outside"),
}
_UNFORESEEN = Outlook(True, "an exception that nobody foresaw may have come from the machine")


def outlook_of(kind: str) -> Outlook:
    """Whether failures of a kind may pass, and why. The only place where that is decided.

    `kind` is a word of `schemas.errors`, of `tasks.supervise`, or the name of an exception's class.
    """
    return _OUTLOOKS.get(kind, _UNFORESEEN)


def wait_s(document_id: str, attempt: int) -> float:
    """Seconds from the failed attempt (1 is the first) to the next: doubled each time, at most a day.

    Up to a quarter is added, by the document's id, so that documents that failed together do not all come back
    at the same moment.
    """
    share = int.from_bytes(hashlib.sha256(f"{document_id}:{attempt}".encode()).digest()[:4]) / 2**32
    doubled = FIRST_WAIT_S * 2.0 ** min(attempt - 1, 20)
    return float(min(doubled * (1 + JITTER * share), LONGEST_WAIT_S))
