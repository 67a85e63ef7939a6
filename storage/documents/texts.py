"""The stored canonical texts of single documents: what a quote is checked against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken
from pincite.schemas.records import Page, Place
from pincite.storage.ledger import schema, transactions
from pincite.storage.segments.segment import Segment
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import LiveDocument, Snapshot

_COLUMNS = ("document_id", "text", "pages", "places")


@dataclass(frozen=True, slots=True)
class StoredText:
    """The canonical text of one document at one version; its file is `document.source`/`document.path`."""

    document: LiveDocument
    text: str
    pages: tuple[Page, ...]
    places: tuple[Place, ...]


def read_texts(
    index: Index, document_ids: Sequence[str], version: int | None = None
) -> dict[str, StoredText]:
    """The stored texts by document id, at a version, the newest if none is named.

    An id that the version does not have is left out. Raises `IndexBroken` when a live document has no text.
    """
    with transactions.reading(index.engine) as connection:
        snapshot = index.snapshot_within(connection, version, document_ids)
        live = {one.document_id: one for one in snapshot.documents()}
        segments = likely_first(connection, snapshot, live, "texts")
    found: dict[str, StoredText] = {}
    for segment in segments:
        missing = sorted(live.keys() - found.keys())
        if not missing:
            break
        for row in snapshot.rows(segment, _COLUMNS, [("document_id", "in", missing)]).to_pylist():
            document = live[row["document_id"]]
            pages = tuple(Page(**page) for page in row["pages"])
            places = tuple(Place(**place) for place in row["places"])
            found[document.document_id] = StoredText(document, row["text"], pages, places)
    if lost := sorted(live.keys() - found.keys()):
        raise IndexBroken(
            f"version {snapshot.version} has the document {live[lost[0]].path} but not its text: "
            "run `pincite verify`"
        )
    return found


def likely_first(
    connection: sa.Connection, snapshot: Snapshot, live: Mapping[str, LiveDocument], kind: str
) -> list[Segment]:
    """All segments of a kind, those in front that began with one of the revisions.

    A revision and its segments begin in one transaction, so that of thousands of files a few are read.
    """
    revisions, segments = schema.revisions, schema.segments
    began = [
        connection.scalar(
            sa.select(sa.func.min(revisions.c.began_version)).where(
                revisions.c.document_id == one.document_id, revisions.c.revision == one.revision
            )
        )
        for one in live.values()
    ]
    query = sa.select(segments.c.file).where(segments.c.kind == kind, segments.c.began_version.in_(began))
    likely = set(connection.scalars(query))
    return sorted(snapshot.of_kind(kind), key=lambda segment: segment.file not in likely)
