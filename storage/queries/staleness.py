"""Why what is stored of a document is not what would be made of it now."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pincite.schemas.records import Configuration, Space
from pincite.storage.ledger import schema, transactions
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import LiveDocument, reason_of_state

Current = Configuration | str | None
"""A recipe alone compares only that, None nothing."""

OTHER_RECIPE = "made with other settings of the pipeline or of OCR"

_OF_SPACE = {
    "model": "the model {then}, the settings ask for {now}",
    "fingerprint": "other weights of {model}",
    "dimension": "{then} dimensions, now {now}",
    "window": "a window of {then} word-pieces, now {now}",
    "pipeline": "pipeline {then}, now {now}",
    "chunker": "the chunker {then}, the settings ask for {now}",
    "tokenizer": "the tokenizer {then}, now {now}",
}


def stale_reason(live: LiveDocument | None, space: Space, current: Current) -> str:
    """In words that name each stage to be done again; "" for a document that is current or can't be found."""
    if live is None or live.stale_reason:
        return live.stale_reason if live else ""
    return _of_configuration(live.recipe, live.extractor, live.extractor_version, space, current)


def _of_configuration(recipe: str, extractor: str, version: str, space: Space, current: Current) -> str:
    now = Configuration(current) if isinstance(current, str) else current
    if now is None:
        return ""
    reasons = [
        *_of_space(space, now.space or space),
        *_of_extractor(extractor, version, now.extractors.get(extractor, version)),
        *([OTHER_RECIPE] if recipe != now.recipe else []),
    ]
    return "; ".join(reasons)


@dataclass(frozen=True, slots=True)
class LiveGroup:
    """The documents that can be found and were made in one way, with the sums of their counts."""

    recipe: str
    extractor: str
    extractor_version: str
    documents: int
    chunks: int
    over_window: int
    pages: int
    ocr_pages: int
    unread: int  # documents that the embedding model can't read


_MADE_BY = ("recipe", "extractor", "extractor_version")


def live_groups(connection: sa.Connection, space_id: int) -> tuple[LiveGroup, ...]:
    """What can be found now in a space, sorted; from the index `revisions_live` alone: no row is read."""
    revisions = schema.revisions
    by = [revisions.c[name] for name in _MADE_BY]
    sums = [sa.func.sum(revisions.c[name]) for name in ("chunks", "over_window", "pages", "ocr_pages")]
    unread = sa.func.sum(sa.case((revisions.c.encoder_fit, 0), else_=1))
    live_now = revisions.c.space_id == space_id, revisions.c.ended_version.is_(None)
    query = sa.select(*by, sa.func.count(), *sums, unread).where(*live_now).group_by(*by).order_by(*by)
    rows: Sequence[Sequence[Any]] = connection.execute(query).all()
    return tuple(LiveGroup(*row) for row in rows)


def stale_counts(
    connection: sa.Connection, live_space: tuple[int, Space], current: Current, groups: Sequence[LiveGroup]
) -> dict[str, int]:
    """How many documents that can be found now are stale, by reason, the most frequent first; none is read.

    `groups` are those of the live space in the same transaction.
    """
    space_id, space = live_space
    left = {(one.recipe, one.extractor, one.extractor_version): one.documents for one in groups}
    counts: Counter[str] = Counter()
    for state, why, same, *made, count in connection.execute(_out_of_date(space_id)):
        counts[reason_of_state(state, why, bool(same))] += count
        left[tuple(made)] -= count  # each document has one reason, and this one comes first
    for (recipe, extractor, version), count in left.items():
        told = _of_configuration(recipe, extractor, version, space, current)
        if told and count:
            counts[told] += count
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _out_of_date(space_id: int) -> sa.Select[tuple[Any, ...]]:
    """What can be found now though its document failed since, or has another file: by what tells why."""
    documents, revisions = schema.documents, schema.revisions
    same_file = documents.c.sha256 == revisions.c.source_sha256
    reason = sa.case((documents.c.state == "failed", documents.c.reason), else_="")
    groups = (documents.c.state, reason, same_file, *(revisions.c[name] for name in _MADE_BY))
    return (
        sa.select(*groups, sa.func.count())
        .select_from(revisions.join(documents, documents.c.document_id == revisions.c.document_id))
        .where(
            revisions.c.space_id + 0 == space_id,  # not by the index, which lacks what is compared
            revisions.c.ended_version.is_(None),
            sa.or_(documents.c.state == "failed", ~same_file),
        )
        .group_by(*groups)
    )


def _of_space(then: Space, now: Space) -> Iterator[str]:
    """The name of a model says all; its weights and dimension are told where the name is the same."""
    moved = then.model != now.model
    differing = [
        words.format(then=getattr(then, name), now=getattr(now, name), model=then.model)
        for name, words in _OF_SPACE.items()
        if getattr(then, name) != getattr(now, name)
        and not (moved and name in ("fingerprint", "dimension", "window"))
    ]
    if differing:
        yield f"made with {' and '.join(differing)}: run `pincite migrate`"


def _of_extractor(extractor: str, then: str, now: str) -> Iterator[str]:
    if then != now:
        yield f"made with the extractor {extractor} {then}, now {now}"


def is_stale(space: Space, current: Current) -> sa.ColumnElement[bool]:
    """The same as a condition on `revisions` and `documents`, of what a configuration alone decides."""
    revisions = schema.revisions
    now = Configuration(current) if isinstance(current, str) else current
    if now is None:
        return sa.false()
    if now.space not in (None, space):
        return sa.true()
    return sa.or_(
        revisions.c.recipe != now.recipe,
        *(
            sa.and_(revisions.c.extractor == name, revisions.c.extractor_version != version)
            for name, version in sorted(now.extractors.items())
        ),
    )


def extractors_in_use(index: Index) -> tuple[str, ...]:
    """The names of the extractors that made what is live, sorted."""
    revisions = schema.revisions
    query = sa.select(revisions.c.extractor).where(revisions.c.ended_version.is_(None)).distinct()
    with transactions.reading(index.engine) as connection:
        return tuple(sorted(connection.scalars(query)))
