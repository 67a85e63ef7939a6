"""Reciprocal rank fusion: ranks, not scores (Cormack, Clarke and Buettcher 2009)."""

import math
from collections.abc import Container, Mapping, Sequence
from typing import TypeVar

RRF_K = 60

Id = TypeVar("Id", int, str)


def reciprocal_rank_fusion(
    lists: Sequence[Sequence[Id]],
    k: int = RRF_K,
    *,
    alone: Container[Id] = (),
    places: Mapping[Id, int] | None = None,
) -> list[tuple[Id, float]]:
    """Each id of any list once with its sum of 1/(k + rank) over the lists, best first.

    Ranks are 1-based. An id that a list repeats counts there once, by its first place, and those behind it
    move up. The order of the lists does not matter, not even in the last bit of a score. The sum of an id in
    `alone`, which only one list can bring, counts twice. Ties go by `places`, or by the ids themselves.
    """
    shares: dict[Id, list[float]] = {}
    for ids in lists:
        for rank, identifier in enumerate(dict.fromkeys(ids), start=1):
            shares.setdefault(identifier, []).append(1.0 / (k + rank))
    fused = [(one, math.fsum(parts) * (2.0 if one in alone else 1.0)) for one, parts in shares.items()]
    if places is None:
        return sorted(fused, key=lambda pair: (-pair[1], pair[0]))
    return sorted(fused, key=lambda pair: (-pair[1], places[pair[0]]))
