"""Measures of one ranked list, each a pure function. None where a measure is not defined, never 0.

Lists hold ids, best first, each once; ranks are 1-based. `k` is at least 1.
"""

from collections.abc import Sequence, Set
from typing import TypeVar

Id = TypeVar("Id", int, str)

CUTS = (1, 4, 8, 20)
"""The k of Recall@k that every evaluation reports."""

DEPTH = max(CUTS)
"""How far down a list a correct passage is looked for."""


def first_rank(ranked: Sequence[Id], relevant: Set[Id]) -> int | None:
    """The rank of the first relevant id; None when the list has none."""
    return next((rank for rank, one in enumerate(ranked, start=1) if one in relevant), None)


def success_at(k: int, rank: int | None) -> float:
    """1 when a relevant id is among the first `k`, else 0. Its mean over questions is reported as Recall@k.

    It is the Success@k of ir_measures: the whole answer is there or it is not, as in the founding measurement.
    With one relevant id a question, as with a needle, it is also the share of relevant ids found; with several,
    as in BEIR, it is not. `rank` is that of `first_rank`.
    """
    return float(rank is not None and rank <= k)


def reciprocal_rank(rank: int | None, depth: int | None = None) -> float:
    """1/rank of the first relevant id, 0 without one or beyond `depth` (Voorhees 1999, TREC-8)."""
    if rank is None or (depth is not None and rank > depth):
        return 0.0
    return 1.0 / rank


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean; None of nothing."""
    return sum(values) / len(values) if values else None
