"""What must hold of a document before it is published, and of everything that is stored (spec sections 2, 3, 8).

Each function returns the problems that it found, in words; none means that the invariant holds.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from pincite.schemas.counting import counted
from pincite.schemas.locators import overlapping
from pincite.schemas.records import Block

UNIT_TOLERANCE = 1e-5


class ChunkLike(Protocol):
    """What a chunk has in memory and on disk alike."""

    @property
    def ordinal(self) -> int: ...
    @property
    def content(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def slice_problems(text: str, chunks: Sequence[ChunkLike]) -> list[str]:
    """Chunks whose content is not `text[start:end]`."""
    return [
        f"chunk {chunk.ordinal} is not the slice {chunk.start} to {chunk.end} of the text"
        for chunk in chunks
        if text[chunk.start : chunk.end] != chunk.content
    ]


def vector_problems(vectors: np.ndarray, chunks: int, dimension: int) -> list[str]:
    """Vectors, float32 [chunks, dimension], that are missing, not finite or not of unit length."""
    if vectors.shape != (chunks, dimension):
        return [f"{counted(chunks, 'chunk has', 'chunks have')} vectors of the shape {vectors.shape}"]
    finite = np.isfinite(vectors).all(axis=1)
    off = np.abs(np.linalg.norm(np.where(finite[:, None], vectors, 0), axis=1) - 1) > UNIT_TOLERANCE
    return [f"the vector of chunk {row} is not finite" for row in np.flatnonzero(~finite)] + [
        f"the vector of chunk {row} is not of unit length" for row in np.flatnonzero(off & finite)
    ]


def coverage_problems(text: str, blocks: Sequence[Block], chunks: Sequence[ChunkLike]) -> list[str]:
    """Stretches of `text` that are neither white space, a heading line nor boilerplate and lie in no chunk."""
    left_out = [block for block in blocks if block.kind in ("heading", "boilerplate")]
    return [
        f"no chunk holds the characters {start} to {end}: {text[start:end].strip()[:40]!r}"
        for gap_start, gap_end in _gaps(len(text), chunks)
        for start, end in _without(left_out, gap_start, gap_end)
        if text[start:end].strip()
    ]


def _gaps(length: int, chunks: Sequence[ChunkLike]) -> Iterator[tuple[int, int]]:
    reached = 0
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        if chunk.start > reached:
            yield reached, chunk.start
        reached = max(reached, chunk.end)
    if reached < length:
        yield reached, length


def _without(headings: Sequence[Block], start: int, end: int) -> Iterator[tuple[int, int]]:
    for heading in overlapping(headings, start, end):
        yield start, max(start, heading.start)
        start = max(start, heading.end)
    yield start, end
