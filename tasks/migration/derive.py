"""Derive: a document of one space as another space has it, from what is stored; nothing is extracted again.

stored chunks → counted anew, or the stored text → chunk → terms → vectors
"""

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np

from pincite.encoders.models import ModelName, model_here
from pincite.schemas.chunkers import is_whole
from pincite.schemas.records import UNFIT, Chunk, DocumentWarning, Extraction, Prepared, Space
from pincite.tasks.chunking.by_model import ModelChunks, chunks_for_model, unfit_warnings
from pincite.tasks.sandbox.child import At
from pincite.tasks.steps.embed import EmbedOrder, embed
from pincite.tasks.steps.lexical import term_frequencies
from pincite.tasks.steps.prepare import wordpieces_of


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one document: its chunks in the live space, or its text to be chunked anew."""

    document_id: str
    title: str
    chunks: tuple[Chunk, ...]
    extraction: Extraction | None = None  # set where it is to be chunked


@dataclass(frozen=True, slots=True)
class DeriveOrder:
    """Documents of one batch. With `embed` off they keep the vectors that they have."""

    model: ModelName
    space: Space
    documents: tuple[Known, ...]
    embed: bool = True


@dataclass(frozen=True, slots=True)
class Derived:
    """One document in the other space. Without chunks: they don't fit the window, and its text is needed."""

    document_id: str
    chunks: tuple[Chunk, ...]
    terms: tuple[dict[str, int], ...]
    vectors: np.ndarray | None  # float32 [chunks, dimension]; None where they stay
    unfit: tuple[DocumentWarning, ...] = ()


def derive(order: DeriveOrder, at: At) -> tuple[Derived, ...]:
    """The documents in their order. All texts of the batch are embedded in one call, which sorts them by length."""
    at("chunk", None)
    made = [_chunked(order, known) for known in order.documents]
    vectors: list[np.ndarray | None] = [None] * len(made)
    if order.embed:
        texts = tuple(one.text for document in made for one in document.chunks)
        rows = embed(EmbedOrder(order.model, texts), at)
        bounds = accumulate((len(document.chunks) for document in made), initial=0)
        vectors = [rows[start:end] for start, end in pairwise(bounds)]
    return tuple(replace(document, vectors=own) for document, own in zip(made, vectors, strict=True))


def _chunked(order: DeriveOrder, known: Known) -> Derived:
    model = model_here(order.model)
    pieces = wordpieces_of(model)
    if known.extraction is None:
        counts = pieces.count_many([one.text for one in known.chunks])
        window = model.window
        chunks = tuple(
            replace(one, tokens=tokens, over_window=tokens > window)
            for one, tokens in zip(known.chunks, counts, strict=True)
        )
        made = ModelChunks(chunks, unfit_warnings(chunks, pieces))
        over = not made.unfit and any(one.over_window for one in chunks)
        if is_whole(order.space.chunker) and over:
            return Derived(known.document_id, (), (), None)
    else:
        made = chunks_for_model(known.extraction, known.title, order.space.chunker, pieces)
    return Derived(known.document_id, made.chunks, term_frequencies(made.chunks), None, made.unfit)


def prepared_with(derived: Derived, extraction: Extraction) -> Prepared:
    """The document as the other space has it, as if it had been made for it."""
    own = tuple(warning for warning in extraction.warnings if warning.code != UNFIT)
    return Prepared(
        replace(extraction, warnings=(*own, *derived.unfit)),
        derived.chunks,
        derived.terms,
        encoder_fit=not derived.unfit,
    )


def keeps_chunks(live: Space, other: Space) -> bool:
    """Whether the chunks of one space are, cut for cut, those of another, as far as they fit its window."""
    return (live.chunker, live.pipeline) == (other.chunker, other.pipeline)


def keeps_vectors(live: Space, other: Space) -> bool:
    """Whether equal chunks have equal vectors in both spaces."""
    of_model = [(one.model, one.fingerprint, one.dimension, one.window) for one in (live, other)]
    return keeps_chunks(live, other) and of_model[0] == of_model[1]
