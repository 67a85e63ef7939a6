"""Retrying: whether a failure may pass by itself, what to do about it, and how long its document waits."""

import hashlib
from dataclasses import dataclass

FIRST_WAIT_S = 300.0
LONGEST_WAIT_S = 86_400.0
JITTER = 0.25

LOST = "lost"
"""Kind of a document whose run ended while it was worked on."""


WAIVED = "waived"
"""Kind of a document that was left out of a migration."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of another attempt while nothing changes, and what a person can do."""

    transient: bool
    why: str
    remedy: str


_ANEW = "Retry once; if it fails again, save the file anew from its program and replace it."
_OUTLOOKS = {
    "unsupported": Outlook(
        False,
        "no extractor reads this format",
        "Convert the file to a format that is read (PDF, Word, HTML, text), replace it, and run again; or leave "
        "it out by a pattern of the collection.",
    ),
    "encrypted": Outlook(
        False, "the file needs a password", "Save the file without its password, replace it, and retry."
    ),
    "unreadable": Outlook(
        False,
        "the same bytes hold nothing that could be quoted",
        "Open the file: if it is empty or damaged, replace it with a sound one, then retry.",
    ),
    "limit": Outlook(
        False,
        "the same file is over the same limit",
        "Split the file, or raise the limit that the reason names in pincite.toml; the next run tries it again.",
    ),
    "invariant": Outlook(
        False,
        "the same file gives the same unfit result",
        "Report it with the file: what was made of it was not fit to be published.",
    ),
    "error": Outlook(
        False,
        "an extractor refused the file",
        "Retry once; if it fails again, report it with the reason and the file.",
    ),
    "misread": Outlook(
        True, "the parser was confused, as it also is when the machine is short of something", _ANEW
    ),
    "unavailable": Outlook(
        True, "the source may be in reach again", "Bring the source back into reach, then retry."
    ),
    "unfit": Outlook(
        False,
        "neither a name nor the kind of a thing changes by itself",
        "Rename it, or put a regular file in its place: the next run takes it up.",
    ),
    "changed": Outlook(
        True, "the file may be at rest by then", "Wait until the file is at rest, then retry."
    ),
    "crashed": Outlook(True, "a crash may have come from the machine's load", _ANEW),
    "deadline": Outlook(
        True,
        "the machine may be less busy",
        "Retry when the machine is less busy, split the file, or raise limits.deadline_s in pincite.toml.",
    ),
    "memory limit": Outlook(
        True,
        "another order of documents leaves other memory",
        "Split the file, or raise limits.memory_bytes in pincite.toml, then retry.",
    ),
    "ocr-unavailable": Outlook(
        True,
        "tesseract or the language may be installed by then",
        "Install tesseract and the language that the reason names, then retry.",
    ),
    "extractor-unavailable": Outlook(
        True,
        "the module may be found by then",
        "Mend [extractors] of the settings, or the file or package that the reason names, then retry.",
    ),
    LOST: Outlook(True, "the run may have been ended from outside", "Retry: the run was ended from outside."),
    WAIVED: Outlook(
        False,
        "it was left out of the migration by choice",
        "Mend what the reason names and replace the file; or retry, with the model that is searched now.",
    ),
}
_UNFORESEEN = Outlook(
    True,
    "an exception that nobody foresaw may have come from the machine",
    "Retry once; if it fails again, report it with the reason and the file.",
)
"""Of an exception's class name."""


def outlook_of(kind: str) -> Outlook:
    """Whether failures of a kind may pass, why, and what to do. The only place where that is decided.

    `kind` is a word of `schemas.errors`, of `tasks.sandbox.pool`, or the name of an exception's class.
    """
    return _OUTLOOKS.get(kind, _UNFORESEEN)


def remedy_of(kind: str | None) -> str:
    """What a person can do about a failure, in words; "" without one."""
    return outlook_of(kind).remedy if kind else ""


def outlook_words(kind: str | None) -> str:
    """Whether another attempt may help while nothing changes, and why; "" without a failure."""
    if not kind:
        return ""
    outlook = outlook_of(kind)
    return f"{'may pass by itself' if outlook.transient else 'will not pass by itself'}: {outlook.why}"


def wait_s(document_id: str, attempt: int) -> float:
    """Seconds from the failed attempt (1 is the first) to the next: doubled each time, at most a day.

    Up to a quarter is added, by the document's id, so that documents that failed together do not all come back
    at the same moment.
    """
    share = int.from_bytes(hashlib.sha256(f"{document_id}:{attempt}".encode()).digest()[:4]) / 2**32
    doubled = FIRST_WAIT_S * 2.0 ** min(attempt - 1, 20)
    return float(min(doubled * (1 + JITTER * share), LONGEST_WAIT_S))
