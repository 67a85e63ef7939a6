"""The terms of each chunk, which BM25 counts."""

from collections import Counter
from collections.abc import Iterable

from pincite.encoders.terms import passage_terms
from pincite.schemas.records import Chunk


def term_frequencies(chunks: Iterable[Chunk]) -> tuple[dict[str, int], ...]:
    """One dict a chunk, term to frequency, in order of first occurrence; {} for a chunk without terms.

    Counted are header and content: the words of title and section often stand nowhere else, and the founding
    BM25 scored texts with their header. Overlap is left out, although it is in `text`: its words would let a
    passage win by what its quote doesn't show. Where a long header was shortened, the whole section path counts.
    """
    return tuple(dict(Counter(passage_terms(_searched(chunk)))) for chunk in chunks)


def _searched(chunk: Chunk) -> str:
    path = "" if not chunk.header or chunk.section in chunk.header else chunk.section
    return f"{chunk.header}\n{path}\n{chunk.content}"
