"""What an evaluation says in sentences, for a person who sees it for the first time. Every figure is counted."""

from collections.abc import Sequence
from dataclasses import dataclass

from pincite.evaluation.statistics import ALPHA
from pincite.schemas.counting import counted
from pincite.schemas.evaluation import (
    LOSS_STAGES,
    Evaluation,
    Loss,
    LossStage,
    Pair,
    RefusalPoint,
    StrategyScores,
    shown_stage,
)

_MAIN_CUT = 4  # passages that a reader is given, by which the page sums up


@dataclass(frozen=True, slots=True)
class LossGroup:
    """The questions that one stage lost."""

    stage: LossStage
    losses: tuple[Loss, ...]

    @property
    def shown(self) -> str:
        return shown_stage(self.stage)


def summary(evaluation: Evaluation) -> list[str]:
    main = main_scores(evaluation)
    if main is None:
        return ["No question of the set has an answer, so there is nothing to find."]
    said = [recall_words(evaluation, main), destroyed_words(main)]
    if evaluation.refusal:
        said.append(refusal_words(evaluation))
    if evaluation.losses:
        said.append(losses_words(evaluation))
    if evaluation.findings:
        said.append(_stages_words(evaluation))
    return [one for one in said if one]


def main_scores(evaluation: Evaluation) -> StrategyScores | None:
    """The index as it is; None when no question has an answer."""
    main = next(one for one in evaluation.strategies if one.strategy.name == evaluation.main)
    return main if main.recall[_MAIN_CUT].of else None


def recall_words(evaluation: Evaluation, main: StrategyScores) -> str:
    share = main.recall[_MAIN_CUT]
    return (
        f"The index as it is puts a right passage among the first {_MAIN_CUT} for {share.count:,} of "
        f"{counted(share.of, 'question')}: {percent(share.value)}. With other questions of the same kind it would "
        f"most likely be between {percent(share.low)} and {percent(share.high)}."
    )


def destroyed_words(main: StrategyScores) -> str:
    share = main.destroyed
    if not share.of:
        return ""
    if not share.count:
        return f"Of {counted(share.of, 'answer')} none was cut in two when the documents were parted into passages."
    was = "was" if share.count == 1 else "were"
    return (
        f"{share.count:,} of {counted(share.of, 'answer')} {was} cut in two when the documents "
        "were parted into passages. No search can find those."
    )


def refusal_words(evaluation: Evaluation) -> str:
    point = in_use(evaluation)
    of = sum(one.of for one in point.bluffs)
    answered = sum(one.answered for one in point.bluffs)
    asked = point.right + point.wrong + point.refused
    refused = f"it refuses {point.refused} of the {asked} that it could have answered" if asked else ""
    if not of:
        return (
            f"At the threshold {point.threshold:g} {refused}. The set has no question that must be refused."
            if asked
            else ""
        )
    bluffs = f"it answers {answered:,} of {counted(of, 'question')} to which the documents have no answer"
    return f"At the threshold {point.threshold:g} {bluffs}{f', and {refused}' if refused else ''}."


def in_use(evaluation: Evaluation) -> RefusalPoint:
    return min(evaluation.refusal, key=lambda point: abs(point.threshold - evaluation.threshold))


def losses_words(evaluation: Evaluation) -> str:
    groups = sorted(loss_groups(evaluation.losses), key=lambda group: -len(group.losses))
    first, count = groups[0], len(evaluation.losses)
    asked = counted(evaluation.tally.answerable, "question")
    return (
        f"Of {asked} {counted(count, 'gets', 'get')} no right passage among the first {evaluation.k} under the "
        f"threshold. The stage that loses most is “{first.shown}”: {len(first.losses)} of {count}."
    )


def _stages_words(evaluation: Evaluation) -> str:
    """By the pairs whose test says that it is no chance, whatever the measure."""
    certain = [pair for pair in evaluation.pairs if telling(pair)]
    helps = dict.fromkeys(what_changes(pair) for pair in certain if len(pair.won) > len(pair.lost))
    harms = dict.fromkeys(what_changes(pair) for pair in certain if len(pair.won) < len(pair.lost))
    count = len({(pair.stage, pair.first, pair.second) for pair in evaluation.pairs})
    said = [f"shown to help: {', '.join(helps)}"] if helps else []
    said += [f"shown to harm: {', '.join(harms)}"] if harms else []
    return (
        f"{count} comparisons were made; {'; '.join(said) or 'in none is the difference more than chance'}."
    )


def what_changes(pair: Pair) -> str:
    """ "header (E for C)"; of two legs of one index only the legs are named."""
    first, second = (name.partition("/") for name in (pair.first, pair.second))
    if "instead" in pair.stage:
        return pair.stage
    if first[0] == second[0]:
        return f"{pair.stage} ({second[2] or 'hybrid'} for {first[2] or 'hybrid'})"
    return f"{pair.stage} ({pair.second} for {pair.first})"


def telling(pair: Pair) -> bool:
    return pair.p_holm is not None and pair.p_holm < ALPHA


def loss_groups(losses: Sequence[Loss]) -> list[LossGroup]:
    """In the order in which a question travels; stages that lost nothing are left out."""
    found = [LossGroup(stage, tuple(one for one in losses if one.stage == stage)) for stage in LOSS_STAGES]
    return [group for group in found if group.losses]


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
