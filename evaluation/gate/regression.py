"""Guard: evaluate an index, keep the result beside it, and hold it against an earlier one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pincite.evaluation.evaluate import AS_IT_IS, Plan, Say, evaluate
from pincite.evaluation.gate.compare import gate
from pincite.evaluation.questions import read_questions
from pincite.evaluation.report.report import html
from pincite.evaluation.results import result_of
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Evaluation, QuestionSet, Result, Verdict
from pincite.schemas.records import CollectionOutcome
from pincite.schemas.settings import Settings
from pincite.storage.kept_evaluations import keep, keep_report, kept, kept_result, read
from pincite.storage.queries.calibrations import latest_calibration
from pincite.storage.snapshots.index import Index, has_index
from pincite.storage.tombstones import forgotten_ids

LAST = "last"
"""The baseline of a nightly run: what the same index reached at an earlier version with the same questions."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """One evaluation with its kept result, and the verdict where there was a baseline."""

    evaluation: Evaluation
    result: Result
    verdict: Verdict | None
    note: str = ""  # why there is no verdict though one was asked for


def guard(
    index: Index,
    settings: Settings,
    questions: QuestionSet,
    plan: Plan = AS_IT_IS,
    baseline: str = "",
    keep_result: bool = True,
    say: Say = lambda _line: None,
) -> Guarded:
    """Evaluates the newest version, keeps it, and gates it against `baseline` ("" for none).

    A baseline is the name of a kept result of this index, its file, another index's folder (its newest result of
    the same questions), or "last": the newest of an earlier version, and no verdict when there is none yet.
    Where the baseline is of another model and this one has no threshold of its own, bluffs are compared at the
    threshold that answers as many questions as the baseline's did: distances of two models can't be compared.
    Raises `UsageError` for a baseline that can't be found, before anything is measured.
    """
    old = find_baseline(index, questions, baseline) if baseline else None
    forgotten = forgotten_ids(index)
    evaluation = evaluate(index, settings, questions, fair_plan(index, plan, old), say)
    result = result_of(evaluation, questions)
    if keep_result:
        result = keep(index.places.objects, result)
        if not keep_report(index, result.name, html(evaluation), forgotten):
            say("the report is not kept: it may quote a document that was forgotten meanwhile")
    if old is None:
        note = f"there is no earlier evaluation of {questions.name} to compare with yet" if baseline else ""
        return Guarded(evaluation, result, None, note)
    return Guarded(evaluation, result, gate(result, old))


def evaluation_due(settings: Settings, outcomes: Sequence[CollectionOutcome]) -> bool:
    """Whether the settings name a question set and the runs changed what can be found."""
    return bool(settings.questions) and any(one.counts.indexed or one.counts.deleted for one in outcomes)


def gate_of(index: Index, settings: Settings) -> Verdict | None:
    """The set of the settings asked now and held against the kept result before; None for the first one."""
    return guard(index, settings, read_questions(Path(settings.questions)), AS_IT_IS, LAST).verdict


def find_baseline(index: Index, questions: QuestionSet, baseline: str) -> Result | None:
    """The result that a baseline names; None only for "last" without an earlier one."""
    if baseline == LAST:
        newest = index.newest_version()
        earlier = [one for one in kept(index.places.objects) if one.version < newest]
        return _newest(earlier, questions, same_bytes=True)
    if found := kept_result(index.places.objects, baseline):
        return found
    if Path(baseline).is_file():
        return read(Path(baseline))
    if has_index(Path(baseline)):
        with Index.open(Path(baseline)) as other:
            results = kept(other.places.objects)
        if found := _newest(results, questions, same_bytes=False):
            return found
        raise UsageError(
            f"the index {baseline} has no kept evaluation of {questions.name}: run `pincite evaluate` on it first"
        )
    raise UsageError(
        f"there is no baseline {baseline!r}: give the name of a kept evaluation (`pincite evaluate --history`), "
        "its file, the folder of another index, or last"
    )


def _newest(results: Sequence[Result], questions: QuestionSet, same_bytes: bool) -> Result | None:
    """The result of the highest version of these questions; the file's own bytes come before its name."""
    same = [one for one in results if one.set_sha256 == questions.sha256]
    named = [] if same_bytes else [one for one in results if one.set_name == questions.name]
    found = same or named
    return max(found, key=lambda one: (one.version, one.name)) if found else None


def fair_plan(index: Index, plan: Plan, baseline: Result | None) -> Plan:
    """The plan with a threshold at which bluffs can be compared, where the index has none of its own."""
    if baseline is None or plan.threshold is not None:
        return plan
    if latest_calibration(index) is not None:
        return plan
    with index.snapshot() as snapshot:
        same_model = snapshot.space.fingerprint == baseline.space.fingerprint
    return replace(plan, threshold=baseline.threshold) if same_model else matched(plan, baseline)


def matched(plan: Plan, baseline: Result) -> Plan:
    """The plan at the threshold that answers as many questions as the baseline's did, for another model."""
    main = [row for row in baseline.rows if row.strategy == baseline.main and row.role == "answerable"]
    return replace(plan, threshold=None, answered=sum(bool(row.answered) for row in main))
