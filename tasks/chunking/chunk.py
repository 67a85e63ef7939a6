"""One document's text into its chunks, by the strategy asked for."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pincite.schemas.errors import UsageError
from pincite.schemas.records import Chunk, Extraction
from pincite.schemas.settings import DEFAULT_CHUNKER
from pincite.tasks.chunking.reference import RECIPES, reference_chunks
from pincite.tasks.chunking.structural import structural_chunks

CountTokens = Callable[[Sequence[str]], list[int]]
"""Word-pieces of each text, special tokens included (`WordPieces.count_many`)."""

STRATEGIES = ("structural", *RECIPES)


def require_strategy(strategy: str) -> None:
    """Raises `UsageError` for a strategy that is none of `STRATEGIES`; "" is the default one."""
    if strategy and strategy not in STRATEGIES:
        raise UsageError(f"unknown chunking strategy {strategy!r}; choose one of {', '.join(STRATEGIES)}")


def chunk(
    extraction: Extraction, title: str, strategy: str, count_tokens: CountTokens, window: int
) -> tuple[Chunk, ...]:
    """The chunks in text order; () for a text of white space alone.

    `title` opens the header of the strategies that have one. `window` is the encoder's, in word-pieces with
    special tokens: a chunk over it has `over_window`, which `structural` never makes. Raises `UsageError` for
    an unknown strategy.
    """
    if strategy in ("", DEFAULT_CHUNKER):
        return structural_chunks(extraction, title, count_tokens, window)
    require_strategy(strategy)
    chunks = reference_chunks(extraction.text, title, RECIPES[strategy])
    counts = count_tokens([chunk.text for chunk in chunks])
    return tuple(
        replace(chunk, tokens=tokens, over_window=tokens > window)
        for chunk, tokens in zip(chunks, counts, strict=True)
    )
