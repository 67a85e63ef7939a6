"""An evaluation as others read it: one JSON object, rows to keep, and a line of history for each kept one."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from pincite.evaluation.metrics import CUTS, DEPTH, mean, reciprocal_rank, success_at
from pincite.evaluation.passages import ground_truth
from pincite.evaluation.statistics import share
from pincite.schemas.evaluation import Evaluation, Judged, Question, QuestionSet, Result, Role, Share


def as_json(evaluation: Evaluation) -> dict[str, object]:
    """All of it for programs: `strategies` by name, `pairs` and `refusal` as lists, shares with their intervals."""
    value = asdict(evaluation)
    value["strategies"] = {
        one["strategy"]["name"]: {**one, "recall": {str(k): cut for k, cut in one["recall"].items()}}
        for one in value["strategies"]
    }
    return value


def result_of(evaluation: Evaluation, questions: QuestionSet) -> Result:
    """What is kept of an evaluation of these questions; it has no name until it is."""
    by_id = {question.id: question for question in questions.questions}
    return Result(
        name="",
        set_name=evaluation.set_name,
        set_sha256=evaluation.set_sha256,
        judge=evaluation.judge,
        version=evaluation.version,
        space=evaluation.space,
        documents=evaluation.documents,
        threshold=evaluation.threshold,
        k=evaluation.k,
        main=evaluation.main,
        rows=(*_answerable(evaluation, by_id), *_others(evaluation, by_id)),
    )


def _answerable(evaluation: Evaluation, by_id: Mapping[str, Question]) -> list[Judged]:
    refused, measured = set(evaluation.refused), bool(evaluation.refusal)
    return [
        replace(
            _asked(scores.strategy.name, by_id[outcome.id], "answerable"),
            rank=outcome.rank,
            answered=outcome.id not in refused
            if measured and scores.strategy.name == evaluation.main
            else None,
            destroyed=outcome.destroyed if by_id[outcome.id].needle else None,
        )
        for scores in evaluation.strategies
        for outcome in scores.outcomes
    ]


def _others(evaluation: Evaluation, by_id: Mapping[str, Question]) -> list[Judged]:
    faults = {fault.id: fault.code for fault in evaluation.faults}
    bluffed = set(evaluation.bluffed)
    measured = bool(evaluation.refusal)
    rows: list[Judged] = []
    for question in by_id.values():
        if question.id in faults:
            row = _asked(evaluation.main, question, "left out")
            rows.append(replace(row, fault=faults[question.id]))
        elif not question.answerable:
            row = _asked(evaluation.main, question, "unanswerable")
            rows.append(replace(row, answered=question.id in bluffed if measured else None))
    return rows


def _asked(strategy: str, question: Question, role: Role) -> Judged:
    truth = ground_truth(question) if question.answerable else ()
    return Judged(
        strategy=strategy,
        question_id=question.id,
        question_kind=question.kind,
        question_sha256=_digest([question.question, *truth]),
        ground=f"{truth[0]}:{_digest(truth)}" if truth else "",
        role=role,
    )


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Milestone:
    """One kept evaluation in a line: its main strategy."""

    name: str
    version: int
    set_name: str
    set_sha256: str
    model: str
    fingerprint: str
    chunker: str
    main: str
    questions: int
    recall: dict[int, Share]
    mrr: float | None
    destroyed: Share  # of distinct needles
    bluffs: Share | None  # None where refusal was not measured
    threshold: float
    left_out: int


def milestone(result: Result) -> Milestone:
    """What a trend shows of a kept evaluation."""
    main = [row for row in result.rows if row.strategy == result.main]
    asked = [row for row in main if row.role == "answerable"]
    needles = {row.ground: bool(row.destroyed) for row in asked if row.destroyed is not None}
    negatives = [row.answered for row in main if row.role == "unanswerable" and row.answered is not None]
    return Milestone(
        name=result.name,
        version=result.version,
        set_name=result.set_name,
        set_sha256=result.set_sha256,
        model=result.space.model,
        fingerprint=result.space.fingerprint,
        chunker=result.space.chunker,
        main=result.main,
        questions=len(asked),
        recall={k: share(int(sum(success_at(k, row.rank) for row in asked)), len(asked)) for k in CUTS},
        mrr=mean([reciprocal_rank(row.rank, DEPTH) for row in asked]),
        destroyed=share(sum(needles.values()), len(needles)),
        bluffs=share(sum(negatives), len(negatives)) if negatives else None,
        threshold=result.threshold,
        left_out=sum(row.role == "left out" for row in main),
    )
