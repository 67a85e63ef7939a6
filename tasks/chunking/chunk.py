"""One document's text into its chunks, by the strategy asked for."""

from collections.abc import Sequence
from dataclasses import replace

from pincite.schemas.chunkers import CountTokens, chunker_of_plugin
from pincite.schemas.errors import InvariantBroken, UsageError
from pincite.schemas.plugins import CHUNKERS, installed
from pincite.schemas.records import Chunk, Extraction
from pincite.schemas.settings import DEFAULT_CHUNKER
from pincite.tasks.chunking.reference import RECIPES, reference_chunks
from pincite.tasks.chunking.structural import structural_chunks

STRATEGIES = (DEFAULT_CHUNKER, *RECIPES)
"""The product's own."""


def strategies() -> tuple[str, ...]:
    """The product's own, then those of plug-ins. Raises `UsageError` for a plug-in that takes one of our names."""
    others = tuple(installed(CHUNKERS))
    if taken := sorted(set(others) & set(STRATEGIES)):
        raise UsageError(
            f"a plug-in registers the chunker {taken[0]}, which is one of Pincite's own: uninstall it"
        )
    return (*STRATEGIES, *others)


def require_strategy(strategy: str) -> None:
    """Raises `UsageError` for a strategy that is none of `strategies()`; "" is the default one."""
    if strategy and strategy not in strategies():
        raise UsageError(f"unknown chunking strategy {strategy!r}; choose one of {', '.join(strategies())}")
    if strategy and strategy not in STRATEGIES:
        chunker_of_plugin(strategy)


def chunk(
    extraction: Extraction, title: str, strategy: str, count_tokens: CountTokens, window: int
) -> tuple[Chunk, ...]:
    """The chunks in text order; () for a text of white space alone.

    `title` opens the header of the strategies that have one. `window` is the encoder's, in word-pieces with
    special tokens: a chunk over it has `over_window`, which `structural` never makes. Raises `UsageError` for
    an unknown strategy, `InvariantBroken` when a plug-in returns something else than chunks.
    """
    if strategy in ("", DEFAULT_CHUNKER):
        return structural_chunks(extraction, title, count_tokens, window)
    require_strategy(strategy)
    if strategy in RECIPES:
        chunks: Sequence[Chunk] = reference_chunks(extraction.text, title, RECIPES[strategy])
    else:
        chunks = chunker_of_plugin(strategy).chunk(extraction, title, count_tokens, window)
        if not all(isinstance(one, Chunk) for one in chunks):
            raise InvariantBroken(f"the chunker {strategy} returned something else than chunks")
    counts = count_tokens([chunk.text for chunk in chunks]) if chunks else []
    return tuple(
        replace(chunk, ordinal=ordinal, tokens=tokens, over_window=tokens > window)
        for ordinal, (chunk, tokens) in enumerate(zip(chunks, counts, strict=True))
    )
