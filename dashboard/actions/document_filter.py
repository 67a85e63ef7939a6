"""A choice of documents by their fields, the same in the address of the page, its forms and the API."""

from dataclasses import dataclass

from pincite.schemas.errors import NotFound, UsageError
from pincite.schemas.records import Collection
from pincite.storage.queries.documents import ORDERS, Wanted, reason_of
from pincite.storage.queries.index_report import STATES
from pincite.storage.runs.collections import read_collections
from pincite.storage.snapshots.index import Index

LONGEST_REASON = 100_000  # characters


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """All conditions together; "" admits all."""

    state: str = ""
    collection: str = ""
    words: str = ""  # in the path
    stage: str = ""  # of the failure
    kind: str = ""
    reason: str = ""  # the whole reason
    because: str = ""  # or its name (`reason_digest`)
    order: str = "path"
    down: bool = False

    def __post_init__(self) -> None:
        """Raises `UsageError` for a state or order that there is not."""
        if self.state and self.state not in STATES:
            raise UsageError(f"no document is ever {self.state!r}: ask for one of {', '.join(STATES)}")
        if self.order and self.order not in ORDERS:
            raise UsageError(f"documents have no order {self.order!r}: use one of {', '.join(ORDERS)}")

    @property
    def narrow(self) -> bool:
        """Whether it asks for more than a state and a collection."""
        return any((self.words, self.stage, self.kind, self.reason, self.because))

    def is_past(self, wanted: Wanted) -> bool:
        """Whether the reason that it names by a digest is gone: no document is failed for it any more."""
        return bool(self.because) and wanted.reason == self.because

    def wanted(self, index: Index) -> Wanted:
        """Raises `NotFound` for a collection that the index does not have."""
        source = collection_named(index, self.collection).source if self.collection else ""
        reason = (reason_of(index, self.because) or self.because) if self.because else self.reason
        return Wanted(
            state=self.state or None,
            source=source,
            words=self.words,
            stage=self.stage,
            kind=self.kind,
            reason=reason,
            order=next((one for one in ORDERS if one == self.order), ORDERS[0]),
            descending=self.down,
        )


def collection_named(index: Index, name: str) -> Collection:
    """Raises `NotFound`."""
    found = next((one for one in read_collections(index) if one.name == name), None)
    if found is None:
        raise NotFound(f"no collection is named {name!r}")
    return found
