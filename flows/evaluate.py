"""Evaluate: a question set after each reindex, held against what the index reached before.

pincite evaluate QUESTIONS --gate last

check ground truth → rank → scores → keep → gate

The plain functions are `gate.regression.guard` and `gate.compare.gate`; a migration calls `gate` on the kept
result of the live space and `pincite.evaluation.evaluate.evaluate_snapshot` of the new one before it switches.
"""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from pincite.evaluation.evaluate import AS_IT_IS
from pincite.evaluation.gate.regression import LAST, Guarded, guard
from pincite.evaluation.questions import read_questions
from pincite.schemas.settings import Settings
from pincite.storage.snapshots.index import Index


@flow(name="evaluate", persist_result=False, validate_parameters=False)
def evaluate(index: str, questions: str, settings: Settings, baseline: str = LAST) -> State:
    """Completed with what was measured; Failed, with the verdict's words, when the gate does not open."""
    with Index.open(Path(index)) as opened:
        guarded = guard(opened, settings, read_questions(Path(questions)), AS_IT_IS, baseline)
    if guarded.verdict is not None and not guarded.verdict.ok:
        return Failed(message="; ".join(guarded.verdict.reasons))
    return Completed(message=summary_of(guarded), data=guarded.result.name)


def summary_of(guarded: Guarded) -> str:
    """One line of the main strategy, for logs."""
    main = guarded.evaluation.strategies[0]
    recall = ", ".join(
        f"recall@{k} {cut.value:.3f}" for k, cut in main.recall.items() if cut.value is not None
    )
    return (
        f"{main.strategy.name}: {recall or 'no answerable question'}, {main.destroyed.count} destroyed, "
        f"{len(guarded.evaluation.bluffed)} of {guarded.evaluation.tally.unanswerable} answered wrongly; "
        f"kept as {guarded.result.name}"
    )
