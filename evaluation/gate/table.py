"""What a verdict rests on, for a person: each metric of the old and of the new index, and the difference of both."""

from dataclasses import dataclass

from pincite.evaluation.comparing import DESTROYED
from pincite.evaluation.metrics import success_at
from pincite.evaluation.passages import NEEDLE
from pincite.evaluation.statistics import holm, paired_difference, share
from pincite.schemas.evaluation import Judged, Mean, Pair, Result, Share, Verdict


@dataclass(frozen=True, slots=True)
class MeasuredMetric:
    """One metric on the questions that both were judged by. `whole` counts needles that some chunk holds whole."""

    metric: str  # recall@1, recall@4, recall@8, recall@20, whole
    old: Share
    new: Share
    difference: Mean  # new minus old, paired
    won: int  # questions that only the new one has
    lost: int  # that only the old one has
    p: float | None  # exact two-sided sign test
    p_holm: float | None


def measured(verdict: Verdict, candidate: Result, baseline: Result) -> tuple[MeasuredMetric, ...]:
    """One a pair of the verdict of `gate(candidate, baseline)`, in its order; Holm's p runs over all of them."""
    new, old = _answered(candidate), _answered(baseline)
    common = [one for one in new if one in old]
    p_holm = holm([pair.p for pair in verdict.pairs])
    both = [old[one] for one in common]
    return tuple(_measure(pair, p, both) for pair, p in zip(verdict.pairs, p_holm, strict=True))


def _answered(result: Result) -> dict[str, Judged]:
    return {
        row.question_sha256: row
        for row in result.rows
        if row.strategy == result.main and row.role == "answerable"
    }


def _measure(pair: Pair, p_holm: float | None, old: list[Judged]) -> MeasuredMetric:
    had = _whole(old) if pair.metric == DESTROYED else _found(old, int(pair.metric.partition("@")[2]))
    won, lost = len(pair.won), len(pair.lost)
    both = had - lost
    return MeasuredMetric(
        metric="whole" if pair.metric == DESTROYED else pair.metric,
        old=share(had, pair.of),
        new=share(both + won, pair.of),
        difference=paired_difference(both, won, lost, pair.of - both - won - lost),
        won=won,
        lost=lost,
        p=pair.p,
        p_holm=p_holm,
    )


def _found(rows: list[Judged], k: int) -> int:
    return sum(success_at(k, row.rank) > 0 for row in rows)


def _whole(rows: list[Judged]) -> int:
    """Needles, each once, as `pincite.evaluation.comparing` counts them."""
    first: dict[str, Judged] = {}
    for row in rows:
        if row.ground.partition(":")[0] == NEEDLE:
            first.setdefault(row.ground, row)
    return sum(not row.destroyed for row in first.values())
