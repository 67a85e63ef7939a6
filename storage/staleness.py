"""Why what is stored of a document is not what would be made of it now."""

from collections.abc import Iterator

import sqlalchemy as sa

from schemas.records import Configuration, Space
from storage import ledger, transactions
from storage.index import Index
from storage.snapshot import LiveDocument

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
    now = Configuration(current) if isinstance(current, str) else current
    if now is None:
        return ""
    reasons = [
        *_of_space(space, now.space or space),
        *_of_extractor(live, now.extractors.get(live.extractor, live.extractor_version)),
        *([OTHER_RECIPE] if live.recipe != now.recipe else []),
    ]
    return "; ".join(reasons)


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


def _of_extractor(live: LiveDocument, now: str) -> Iterator[str]:
    if live.extractor_version != now:
        yield f"made with the extractor {live.extractor} {live.extractor_version}, now {now}"


def is_stale(space: Space, current: Current) -> sa.ColumnElement[bool]:
    """The same as a condition on `revisions` and `documents`, of what a configuration alone decides."""
    revisions = ledger.revisions
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
    revisions = ledger.revisions
    query = sa.select(revisions.c.extractor).where(revisions.c.ended_version.is_(None)).distinct()
    with transactions.reading(index.engine) as connection:
        return tuple(sorted(connection.scalars(query)))
