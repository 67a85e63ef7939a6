"""Plan: what the settings mean for a run."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pincite.encoders.models import Model
from pincite.encoders.terms import TOKENIZER
from pincite.schemas.errors import UsageError
from pincite.schemas.records import Collection, Policy, Space
from pincite.schemas.settings import DEFAULT_CHUNKER, PIPELINE_VERSION, Settings, limits_digest, recipe
from pincite.storage.runs.collections import agree
from pincite.tasks.chunking.chunk import require_strategy
from pincite.tasks.extraction.stamps import extractors_digest, own_versions
from pincite.tasks.sources.source import address_of


def space_of(model: Model, settings: Settings) -> Space:
    """The space of an index made with these settings. Raises `UsageError` for an unknown chunker."""
    return space_of_model(model, settings.chunker)


def space_of_model(model: Model, chunker: str) -> Space:
    """As `space_of`, of a chunker by name."""
    require_strategy(chunker)
    return Space(
        model=model.name,
        fingerprint=model.fingerprint,
        dimension=model.dimension,
        window=model.window,
        pipeline=PIPELINE_VERSION,
        chunker=chunker or DEFAULT_CHUNKER,
        tokenizer=TOKENIZER,
    )


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """What is asked of runs beside bringing the index up to date, each as in `Policy`."""

    retry: tuple[str, ...] | None = None
    confirmed_deletions: int | None = None
    now: float | None = None


NOTHING_MORE = UpdateRequest()


def policy_of(settings: Settings, request: UpdateRequest = NOTHING_MORE) -> Policy:
    """Which documents a run takes up."""
    limits = hashlib.sha256(f"{limits_digest(settings)}{extractors_digest()}".encode()).hexdigest()[:16]
    return Policy(
        recipe(settings),
        limits,
        settings.attempts,
        request.retry,
        request.confirmed_deletions,
        request.now,
        follow_links_out=settings.follow_links_out,
        own=own_versions(settings),
    )


@dataclass(frozen=True, slots=True)
class CollectionChoice:
    """What someone asked to be indexed. All of it None: every collection."""

    source: str | None = None  # a folder or a URL
    collection: str | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None


def chosen_collections(
    known: Sequence[Collection], settings: Settings, choice: CollectionChoice
) -> tuple[Collection, ...]:
    """The collections to bring up to date, sorted by name.

    `known` are those of the index. What the choice leaves open is as the settings say, else as the index has it.
    Raises `UsageError` when nothing or something unknown is asked for.
    """
    configured = {
        name: Collection(name, address_of(one.source), tuple(one.include), tuple(one.exclude))
        for name, one in settings.collections.items()
    }
    if choice.source is not None:
        return (_of_source(address_of(choice.source), known, configured.values(), choice),)
    every = {one.name: one for one in known if one.source not in {c.source for c in configured.values()}}
    every |= configured
    if choice.collection is not None and choice.collection not in every:
        raise UsageError(
            f"no collection is named {choice.collection}. Known are: {', '.join(sorted(every)) or 'none'}"
        )
    if not every:
        raise UsageError("name the folder or bucket to index, or write collections into pincite.toml")
    names = sorted(every) if choice.collection is None else [choice.collection]
    return tuple(
        _of_source(every[name].source, known, configured.values(), replace(choice, collection=name))
        for name in names
    )


def _of_source(
    source: str, known: Sequence[Collection], configured: Iterable[Collection], choice: CollectionChoice
) -> Collection:
    written = next((one for one in configured if one.source == source), None)
    name, include, exclude = choice.collection, choice.include, choice.exclude
    if written is not None:
        name = name or written.name
        include = written.include if include is None else include
        exclude = written.exclude if exclude is None else exclude
    return agree(known, source, name, include, exclude)
