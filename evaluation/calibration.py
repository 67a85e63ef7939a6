"""Choosing a threshold: swept over one half of the questions, reported on the other.

cost(threshold) = refusal_cost * (share of answerable questions that are refused)
                + bluff_cost * (mean over the kinds of negatives, evidence removed among them, of the share answered)

Kinds count alike, however many questions each has, so that adding easy negatives does not buy a laxer threshold.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pincite.evaluation.distances import Grouped
from pincite.evaluation.refusal import Distances, sweep
from pincite.evaluation.statistics import share
from pincite.schemas.counting import counted
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Bluffs, RefusalPoint, Share

LEAST = 4
"""Questions of a kind: with fewer, a half of them says nothing."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a mistake costs; only their ratio matters."""

    bluff: float = 1.0
    refusal: float = 1.0


@dataclass(frozen=True, slots=True)
class MeasuredThreshold:
    """What one threshold does to one half of the questions."""

    threshold: float
    cost: float
    answered: Share  # answerable questions with a passage under the cut
    right: Share  # answerable questions with a correct passage among the at most four
    refused: Share  # answerable questions wrongly refused
    bluffs: dict[str, Share]  # by kind of negative, sorted; "evidence removed" is the control


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A threshold and what it was chosen by."""

    threshold: float
    costs: Costs
    swept: tuple[MeasuredThreshold, ...]  # by threshold, on the half that it was chosen on
    held_out: MeasuredThreshold  # the chosen one, on the half that it was not
    default: MeasuredThreshold  # the founding threshold on that half, to compare
    evidence: float = (
        0.0  # the least evidence score; 0 where one would not pay on the half that it was not chosen on
    )
    with_evidence: MeasuredThreshold | None = None  # the chosen threshold and this score, on that half


def calibrate(questions: Sequence[Grouped], costs: Costs, default: float) -> Calibrated:
    """The threshold of least cost on one half, measured on the other, and then the least evidence score likewise.

    Raises `UsageError` when a half would have no answerable question or none that must be refused.
    """
    _check(questions, costs)
    tuning, held_out = split(questions)
    thresholds = between(tuning)
    swept = tuple(_measured(point, costs) for point in sweep(tuning, thresholds))
    threshold = _cheapest(swept)
    chosen, founding = sweep(held_out, [threshold, default])
    found = Calibrated(threshold, costs, swept, _measured(chosen, costs), _measured(founding, costs))
    evidence = _least_evidence(tuning, threshold, costs)
    both = _with_evidence(held_out, threshold, evidence, costs)
    pays = evidence > 0 and both.cost < found.held_out.cost
    return replace(found, evidence=evidence, with_evidence=both) if pays else found


def _least_evidence(found: Sequence[Distances], threshold: float, costs: Costs) -> float:
    """The evidence score of least cost beside the threshold; 0 where none costs less than none."""
    scores = sorted(
        {one for each in found for one in (each.evidence, each.evidence_other) if one is not None}
    )
    tried = [0.0, *(round((low + high) / 2, 4) for low, high in pairwise(scores))]
    return min(tried, key=lambda least: (_with_evidence(found, threshold, least, costs).cost, least))


def _with_evidence(
    found: Sequence[Distances], threshold: float, least: float, costs: Costs
) -> MeasuredThreshold:
    (point,) = sweep([one.from_evidence(least) for one in found], [threshold])
    return _measured(point, costs)


def split(questions: Sequence[Grouped]) -> tuple[list[Distances], list[Distances]]:
    """Two halves with as many groups of each kind, give or take one, the same for the same questions in any order."""
    halves: tuple[list[Distances], list[Distances]] = ([], [])
    strata: dict[tuple[bool, str], dict[str, list[Distances]]] = {}
    for one in sorted(questions, key=lambda one: one.distances.id):
        answerable = one.distances.answerable
        stratum = strata.setdefault((answerable, "" if answerable else one.distances.kind), {})
        stratum.setdefault(one.group, []).append(one.distances)
    for _, groups in sorted(strata.items()):
        for place, group in enumerate(sorted(groups, key=_shuffled)):
            halves[place % 2].extend(groups[group])
    return halves


def _shuffled(group: str) -> str:
    return hashlib.sha256(group.encode()).hexdigest()


def between(found: Sequence[Distances]) -> list[float]:
    """A threshold in the middle of each gap between distances that occur, one below all and one above; ascending.

    So every decision that a threshold could make on these questions is made, up to three decimals.
    """
    seen = sorted(
        {
            distance
            for one in found
            for distance in (one.nearest, one.nearest_other, *(edge for pair in one.right for edge in pair))
            if distance is not None and math.isfinite(distance)
        }
    )
    edges = [0.0, *seen, 2.0]
    middles = (round((low + high) / 2, 3) for low, high in pairwise(edges))
    return sorted(set(middles))


def _cheapest(swept: Sequence[MeasuredThreshold]) -> float:
    """The threshold of least cost; the middle of the first run of neighbours that are equally cheap."""
    least = min(one.cost for one in swept)
    first = next(place for place, one in enumerate(swept) if one.cost == least)
    last = first
    while last + 1 < len(swept) and swept[last + 1].cost == least:
        last += 1
    return swept[(first + last) // 2].threshold


def _measured(point: RefusalPoint, costs: Costs) -> MeasuredThreshold:
    answerable = point.right + point.wrong + point.refused
    bluffs = {one.kind: _share(one) for one in (*point.bluffs, point.removed) if one.of}
    refused = share(point.refused, answerable)
    bluffed = [one.value for one in bluffs.values() if one.value is not None]
    return MeasuredThreshold(
        threshold=point.threshold,
        cost=costs.refusal * (refused.value or 0.0) + costs.bluff * (math.fsum(bluffed) / len(bluffed)),
        answered=share(answerable - point.refused, answerable),
        right=share(point.right, answerable),
        refused=refused,
        bluffs=dict(sorted(bluffs.items())),
    )


def _share(one: Bluffs) -> Share:
    return share(one.answered, one.of)


def _check(questions: Sequence[Grouped], costs: Costs) -> None:
    for name, value in (("bluff", costs.bluff), ("refusal", costs.refusal)):
        if not (math.isfinite(value) and value >= 0):
            raise UsageError(f"the cost of a {name} is {value}: give a number from 0 up")
    if costs.bluff == costs.refusal == 0:
        raise UsageError("both costs are 0: then every threshold is as good as any other")
    for word, answerable in (("answers", True), ("must be refused", False)):
        groups = {one.group for one in questions if one.distances.answerable is answerable}
        if len(groups) < LEAST:
            what = "have an answer" if word == "answers" else word
            raise UsageError(
                f"{counted(len(groups), 'different question')} {what}: at least {LEAST} are needed, half of them "
                "to choose the threshold, half to report on"
            )
