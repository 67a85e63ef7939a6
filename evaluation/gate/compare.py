"""The gate: may a new index take the place of an old one? Two kept evaluations, question by question."""

from collections.abc import Mapping, Sequence, Set

from pincite.evaluation.comparing import DESTROYED, Stage, corrected, pairs_of
from pincite.evaluation.statistics import ALPHA
from pincite.schemas.counting import counted
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Judged, Pair, QuestionOutcome, Result, Verdict

_LOST = ("not-in-text", "no-document", "no-page")
"""Faults that a question has when the index lost what it is judged by."""

_NAMED = 20
Rows = Mapping[str, Judged]


def gate(candidate: Result, baseline: Result) -> Verdict:
    """Not ok when the candidate's main strategy is significantly worse than the baseline's on any recall, lacks
    an answer that the baseline had whole, or answers more of the questions that must be refused.

    Worse is judged by the raw p of the exact sign test, two-sided under .05: a guard that corrects for the four
    recalls would let more harm through. Questions are matched by their words and ground truth, not by their ids.
    Raises `UsageError` when the two have no question in common or judge by different texts.
    """
    new, old = _main(candidate), _main(baseline)
    common = [one for one in new if one in old]
    if not common or candidate.judge != baseline.judge:
        raise UsageError(
            f"{_title(candidate)} and {_title(baseline)} can't be compared: they "
            + ("have no question in common" if not common else "judge by different texts")
        )
    pairs = _pairs(new, old, common, candidate, baseline)
    worse = [pair for pair in pairs if pair.metric != DESTROYED and _worse(pair)]
    destroyed = tuple(new[one].question_id for one in common if _has_lost(new[one], old[one]))
    negatives = [one for one in common if new[one].role == "unanswerable" == old[one].role]
    answered = [[one for one in negatives if rows[one].answered] for rows in (new, old)]
    bluffed = tuple(new[one].question_id for one in answered[0] if old[one].answered is False)
    more = len(answered[0]) - len(answered[1]) if bluffed else 0
    reasons = [_worse_words(pair) for pair in worse]
    if destroyed:
        reasons.append(
            f"lacks {counted(len(destroyed), 'answer')} that the baseline had: {_names(destroyed)}"
        )
    if more > 0:
        reasons.append(f"{counted(more, 'wrong answer')} more to questions without one: {_names(bluffed)}")
    return Verdict(
        ok=not reasons,
        baseline=_title(baseline),
        candidate=_title(candidate),
        pairs=tuple(pairs),
        destroyed=destroyed,
        bluffed=bluffed,
        reasons=tuple(reasons),
        notes=tuple(_notes(new, old, common, {*destroyed}) + _threshold_note(candidate, baseline)),
    )


def _main(result: Result) -> dict[str, Judged]:
    """The rows of the main strategy by what they ask."""
    return {row.question_sha256: row for row in result.rows if row.strategy == result.main}


def _pairs(new: Rows, old: Rows, common: Sequence[str], candidate: Result, baseline: Result) -> list[Pair]:
    both = [one for one in common if new[one].role == "answerable" == old[one].role]
    truths = {new[one].question_id: tuple(new[one].ground.split(":", 1)) for one in both}
    first, second = (
        [QuestionOutcome(new[one].question_id, rows[one].rank, bool(rows[one].destroyed)) for one in both]
        for rows in (old, new)
    )
    stage = Stage("gate", _title(baseline), _title(candidate))
    return corrected(pairs_of(stage, first, second, truths)) if both else []


def _worse(pair: Pair) -> bool:
    return pair.p is not None and pair.p < ALPHA and len(pair.lost) > len(pair.won)


def _has_lost(new: Judged, old: Judged) -> bool:
    if old.role != "answerable" or old.destroyed:
        return False
    return bool(new.destroyed) or (new.role == "left out" and new.fault in _LOST)


def _worse_words(pair: Pair) -> str:
    return (
        f"{pair.metric} is significantly worse (+{len(pair.won)}/−{len(pair.lost)} of {pair.of}, "
        f"p = {pair.p:.3g}): lost {_names(pair.lost)}"
    )


def _notes(new: Rows, old: Rows, common: Sequence[str], lost: Set[str]) -> list[str]:
    """What could not be compared; `lost` is told of elsewhere."""
    unequal = [new[one].question_id for one in common if new[one].role == "left out" != old[one].role]
    told = [
        (
            "not compared, since their ground truth no longer holds",
            [one for one in unequal if one not in lost],
        ),
        ("only the candidate was asked", [row.question_id for one, row in new.items() if one not in old]),
        ("only the baseline was asked", [row.question_id for one, row in old.items() if one not in new]),
    ]
    return [f"{what}: {_names(ids)}" for what, ids in told if ids]


def _threshold_note(candidate: Result, baseline: Result) -> list[str]:
    if candidate.threshold == baseline.threshold:
        return []
    return [
        f"the thresholds differ: {baseline.threshold:g} of the baseline, {candidate.threshold:g} of the candidate"
    ]


def _title(result: Result) -> str:
    name = result.name or "this evaluation"
    return f"{name} ({result.main}, {result.space.model}, version {result.version})"


def _names(ids: Sequence[str]) -> str:
    rest = len(ids) - _NAMED
    return ", ".join(ids[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
