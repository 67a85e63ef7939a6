"""The error tree.

PinciteError
├── UsageError            wrong input by the caller; exit code 2
│   ├── SourceError       a source that can't be listed
│   │   └── UnconfirmedLoss so many documents gone that the source itself may be
│   ├── VersionGone       a version that vacuum or forget took away
│   ├── NotFound          a document or passage that the index does not have
│   ├── SpaceMismatch     an index of another embedding space; names both
│   └── ModelUnavailable  weights that are not on this machine
├── IndexBroken           what is stored contradicts itself; exit code 2
├── IndexBusy             another run holds the index; exit code 2
├── ServerFailed          the embedded Prefect server did not start; exit code 2
├── ChildFailed           a child process that works on documents can't be started; exit code 2
├── AnswerFailed          the answering endpoint gave no whole answer; exit code 2
└── DocumentError         one document can't be processed; ends only that document
    ├── Unsupported       no extractor for this format
    ├── Encrypted         a password is needed
    ├── Unreadable        damaged, empty, garbled: nothing to quote
    ├── LimitExceeded     time, memory, pages, pixels or inflated size
    ├── WorkerDied        the child process ended by itself
    ├── Misread           a parser met what neither it nor we expected: damage, or our fault
    ├── OcrUnavailable    tesseract or one of its languages is not installed
    ├── SourceUnavailable the file can't be read just now
    ├── SourceChanged     the file changed or vanished while it was read
    └── InvariantBroken   the result is not fit to be published
"""

from dataclasses import dataclass

from pincite.schemas.retrying import outlook_of


class PinciteError(Exception):
    """Root of all errors that Pincite raises on purpose. The message says what, why, and what to do."""


class UsageError(PinciteError):
    """The caller asked for something that can't be done."""


class SourceError(UsageError):
    """A source can't be listed."""


class UnconfirmedLoss(SourceError):
    """A source from which so many documents are gone that someone must say that this is right."""

    def __init__(self, what: str, lost: int, confirmed: int | None = None) -> None:
        """`what` says where so many, `lost`, would be deleted; `confirmed` is another number that was agreed to."""
        super().__init__(what, lost, confirmed)
        self.what = what
        self.lost = lost
        self.confirmed = confirmed

    def __str__(self) -> str:
        wrong = f"--confirm-deletions {self.confirmed} was given, and the number is {self.lost} now: "
        return (
            f"{'' if self.confirmed is None else wrong}{self.what}. If they are really to go, run again with "
            f"--confirm-deletions {self.lost}"
        )


class VersionGone(UsageError):
    """What a version held is no longer kept."""


class NotFound(UsageError):
    """The index has no such document, or the document no such passage."""


class SpaceMismatch(UsageError):
    """The index holds vectors of another embedding space than the one asked for."""


class ModelUnavailable(UsageError):
    """The weights of a model are not on this machine."""


class IndexBroken(PinciteError):
    """What is stored contradicts itself or can't be read."""


class IndexBusy(PinciteError):
    """Another run holds the index."""


class ServerFailed(PinciteError):
    """The embedded Prefect server did not start. The message holds the end of its log."""


class ChildFailed(PinciteError):
    """No child process can be started or set up: no document's fault."""


class AnswerFailed(PinciteError):
    """The endpoint that writes answers refused, broke off or stayed silent."""


class DocumentError(PinciteError):
    """One document can't be processed. `kind` is a stable word for filters; `page` is 1-based."""

    kind = "error"

    def __init__(self, message: str, page: int | None = None) -> None:
        super().__init__(message, page)
        self.message = message
        self.page = page

    @property
    def transient(self) -> bool:
        """Whether it may pass while nothing changes."""
        return outlook_of(self.kind).transient

    def __str__(self) -> str:
        return self.message


class Unsupported(DocumentError):
    kind = "unsupported"


class Encrypted(DocumentError):
    kind = "encrypted"


class Unreadable(DocumentError):
    kind = "unreadable"


class Misread(DocumentError):
    kind = "misread"


class SourceUnavailable(DocumentError):
    kind = "unavailable"


class LimitExceeded(DocumentError):
    kind = "limit"


class WorkerDied(DocumentError):
    kind = "crashed"


class OcrUnavailable(DocumentError):
    kind = "ocr-unavailable"


class ExtractorUnavailable(DocumentError):
    kind = "extractor-unavailable"


class SourceChanged(DocumentError):
    kind = "changed"


class InvariantBroken(DocumentError):
    kind = "invariant"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one document failed: what crosses from a child process and is stored in the ledger."""

    stage: str  # discover, prepare (before its first step), fetch, extract, chunk, lexical, embed, publish; or run
    kind: str  # word of the error tree, or the exception's class name
    reason: str
    page: int | None = None  # 1-based
    transient: bool = False  # worth trying again though nothing changed
