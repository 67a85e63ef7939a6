"""The chunks of a document for one embedding model: cut by its window, or by characters where it can't read them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pincite.encoders.fitness import measure_fitness
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.chunkers import is_whole
from pincite.schemas.records import UNFIT, Chunk, DocumentWarning, Extraction
from pincite.tasks.chunking.chunk import chunk

_NO_WINDOW = 1 << 30
"""Word-pieces: more than any chunk has."""


@dataclass(frozen=True, slots=True)
class ModelChunks:
    """`unfit` is the warning that the model can't read the document; () where it can."""

    chunks: tuple[Chunk, ...]
    unfit: tuple[DocumentWarning, ...]


def chunks_for_model(
    extraction: Extraction, title: str, strategy: str, wordpieces: WordPieces
) -> ModelChunks:
    """The chunks in text order, and whether the model reads them.

    The model's window must not cut what the model can't read into splinters: its vectors say nothing of it, and
    whole sentences are found by their words. So a chunker that covers all text cuts such a document by characters
    alone; chunks over the window are flagged. Raises `UsageError` for an unknown strategy.
    """
    window = wordpieces.model.window
    chunks = chunk(extraction, title, strategy, wordpieces.count_many, window)
    unfit = unfit_warnings(chunks, wordpieces)
    if unfit and is_whole(strategy):
        chunks = tuple(
            replace(one, over_window=one.tokens > window)
            for one in chunk(extraction, title, strategy, wordpieces.count_many, _NO_WINDOW)
        )
    return ModelChunks(chunks, unfit)


def unfit_warnings(chunks: Sequence[Chunk], wordpieces: WordPieces) -> tuple[DocumentWarning, ...]:
    """The warning that an embedding model can't read these chunks; () where it can."""
    fitness = measure_fitness([chunk.content for chunk in chunks], wordpieces)
    if fitness.readable:
        return ()
    return (
        DocumentWarning(
            UNFIT,
            f"the embedding model {wordpieces.model.name} can't read this document: "
            f"{fitness.pieces_per_character:.2f} word-pieces a character, {fitness.unknown_share:.0%} of them "
            "unknown. It is found by its words (BM25) alone; for search by meaning index with a model of its "
            "language (setting `model`)",
        ),
    )
