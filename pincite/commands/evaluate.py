"""`pincite evaluate`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from pincite.console import (
    DEFAULT_INDEX,
    ExitCode,
    IndexOption,
    JsonOption,
    complain,
    one_line,
    print_json,
    print_table,
    say,
)
from pincite.evaluation.evaluate import ABLATION, AS_IT_IS
from pincite.evaluation.gate.regression import Guarded, guard
from pincite.evaluation.metrics import CUTS
from pincite.evaluation.questions import read_questions
from pincite.evaluation.results import Milestone, as_json, milestone
from pincite.flows.settings import load_settings
from pincite.output import check_target, write_whole
from pincite.schemas.counting import counted, decimal
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import (
    LOSS_STAGES,
    Evaluation,
    Mean,
    RefusalPoint,
    Share,
    StrategyScores,
    Verdict,
    shown_stage,
)
from pincite.storage.kept_evaluations import kept
from pincite.storage.snapshots.index import Index

_LISTED = 10  # losses that the terminal shows; the report and the JSON have all

Questions = Annotated[
    Path | None,
    typer.Argument(help="JSON lines: question, `needle` (the expected sentence), document, kind."),
]
Ablate = Annotated[
    bool,
    typer.Option("--ablate", help="Also measure chunking A to F and the default, and reranking if possible."),
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="Also measure this embedding model on the same texts; repeatable."),
]
GateOption = Annotated[
    str,
    typer.Option(
        "--gate",
        help="Exit 1 when worse than this: a kept evaluation, its file, another index, or last.",
    ),
]


def evaluate(
    questions: Questions = None,
    index: IndexOption = DEFAULT_INDEX,
    ablate: Ablate = False,
    model: Models = None,
    mode: Annotated[
        Literal["hybrid", "dense", "bm25"], typer.Option(help="Whose losses and refusals are followed.")
    ] = "hybrid",
    rerank: Annotated[bool, typer.Option("--rerank", help="Follow the reranked list.")] = False,
    judge: Annotated[
        Literal["content", "text"],
        typer.Option(help="Where an expected sentence must stand whole: quoted, or embedded."),
    ] = "content",
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=2.0, help="Cosine distance; else that of the index.")
    ] = None,
    gate: GateOption = "",
    html: Annotated[Path | None, typer.Option(help="Write the report as one HTML page.")] = None,
    store: Annotated[
        bool, typer.Option("--store/--no-store", help="Keep the result in the index folder.")
    ] = True,
    history: Annotated[bool, typer.Option("--history", help="List what was kept; measure nothing.")] = False,
    json: JsonOption = False,
) -> None:
    """Score the index by questions whose answers are known: intervals, paired tests, losses, refusals."""
    if history:
        with Index.open(index) as opened:
            _print_history(opened, json)
        return
    if questions is None:
        raise UsageError(
            "give a file of questions, or --history: `pincite questions check` says what one holds"
        )
    if rerank and mode != "hybrid":
        raise UsageError("reranking reorders the fused list: leave --mode out, or --rerank")
    check_target(html)
    plan = replace(
        ABLATION if ablate else AS_IT_IS,
        models=tuple(model or ()),
        mode=mode,
        rerank=rerank,
        judge=judge,
        threshold=threshold,
    )
    with Index.open(index) as opened:
        guarded = guard(opened, load_settings(), read_questions(questions), plan, gate, store, complain)
    if html is not None:
        from pincite.evaluation.report.report import html as html_of

        write_whole(html, html_of(guarded.evaluation))
    if json:
        print_json(_as_json(guarded))
    else:
        _show(guarded)
    if guarded.verdict is not None and not guarded.verdict.ok:
        raise typer.Exit(ExitCode.FELL_SHORT)


def _as_json(guarded: Guarded) -> dict[str, object]:
    verdict = asdict(guarded.verdict) if guarded.verdict else None
    return as_json(guarded.evaluation) | {"kept": guarded.result.name or None, "gate": verdict}


def _print_history(index: Index, json: bool) -> None:
    milestones = [milestone(result) for result in kept(index.places.objects)]
    if json:
        print_json([asdict(one) for one in milestones])
        return
    columns = [
        "kept",
        "version",
        "questions",
        "n",
        *(f"R@{k}" for k in CUTS),
        "MRR",
        "destroyed",
        "wrong answers",
    ]
    print_table([*columns, "left out", "strategy", "model"], [_milestone_row(one) for one in milestones])


def _milestone_row(one: Milestone) -> list[object]:
    return [
        *(one.name, one.version, one.set_name, one.questions),
        *(decimal(one.recall[k].value) for k in CUTS),
        *(decimal(one.mrr), f"{one.destroyed.count}/{one.destroyed.of}"),
        f"{one.bluffs.count}/{one.bluffs.of} at {one.threshold:.3g}" if one.bluffs else "–",
        *(one.left_out, one.main, one.model),
    ]


def _show(guarded: Guarded) -> None:
    evaluation = guarded.evaluation
    tally = evaluation.tally
    say(
        f"{one_line(evaluation.set_name)}: {counted(tally.answerable, 'question')} on "
        f"{counted(tally.needles, 'needle')}, "
        f"{tally.unanswerable} that must be refused, {tally.left_out} left out; index version "
        f"{evaluation.version}, {counted(evaluation.documents, 'document')}, judged by {evaluation.judge}"
    )
    for fault in evaluation.faults:
        say(f"left out {one_line(fault.id)}: {one_line(fault.reason)}")
    say("")
    _show_strategies(evaluation.strategies)
    if evaluation.findings:
        say("\nDoes each stage pay?")
    for finding in evaluation.findings:
        say(f"- {finding.words}")
    _show_losses(evaluation)
    _show_refusal(evaluation)
    for note in evaluation.notes:
        say(f"note: {one_line(note)}")
    if guarded.result.name:
        say(f"kept as {guarded.result.name}")
    if guarded.note:
        say(f"gate: {guarded.note}")
    if guarded.verdict:
        _show_verdict(guarded.verdict)


def _show_strategies(strategies: Sequence[StrategyScores]) -> None:
    """Shares with their 95 % intervals; two phrasings of an expected sentence are counted as two."""
    columns = ["strategy", "n", *(f"R@{k}" for k in CUTS), "MRR", "destroyed"]
    costs = ["chunks", "word-pieces", "header", "over window"]
    print_table([*columns, *costs], [_strategy_row(one) for one in strategies])


def _strategy_row(one: StrategyScores) -> list[object]:
    header = "–" if one.cost.header_share is None else f"{one.cost.header_share:.0%}"
    return [
        *(one.strategy.name, len(one.outcomes)),
        *(interval(one.recall[k]) for k in CUTS),
        interval(one.mrr),
        f"{one.destroyed.count}/{one.destroyed.of} {bounds(one.destroyed)}",
        *(one.cost.chunks, one.cost.tokens, header, one.cost.over_window),
    ]


def interval(value: Share | Mean) -> str:
    """ "0.812 [0.71–0.88]"."""
    return f"{decimal(value.value)} {bounds(value)}".rstrip()


def bounds(value: Share | Mean) -> str:
    """The 95 % interval; "" where it is not defined."""
    return "" if value.low is None or value.high is None else f"[{value.low:.2f}–{value.high:.2f}]"


def _show_losses(evaluation: Evaluation) -> None:
    """Counts by stage, and the first questions with what was returned instead."""
    if not evaluation.losses:
        return
    by_stage = Counter(loss.stage for loss in evaluation.losses)
    lost = counted(len(evaluation.losses), "question was", "questions were")
    say(f"\nWhere {lost} lost ({evaluation.main}, k = {evaluation.k}):")
    print_table(
        ["stage", "questions"],
        [[shown_stage(stage), by_stage[stage]] for stage in LOSS_STAGES if by_stage[stage]],
    )
    for loss in evaluation.losses[:_LISTED]:
        say(f"- {one_line(loss.question.id)}: {one_line(loss.question.question)}")
        say(f"    {shown_stage(loss.stage)}: {one_line(loss.words)}")
        for shown in loss.evidence[:1]:
            say(f"    right: {one_line(shown.document)} {shown.locator}")
        for shown in loss.returned[:1]:
            say(f"    first: {one_line(shown.document)} {shown.locator}")
    if len(evaluation.losses) > _LISTED:
        say(f"  and {len(evaluation.losses) - _LISTED} more: --json or --html shows all, with their passages")


def _show_refusal(evaluation: Evaluation) -> None:
    points = list(_near(evaluation.refusal, evaluation.threshold))
    if not points:
        return
    kinds = [f"wrong answers: {one_line(one.kind) or 'no kind'}" for one in points[0].bluffs]
    say("\nRefusal by threshold (right passage, wrong passage, wrongly refused; wrong answers by kind):")
    print_table(
        ["threshold", "right", "wrong", "refused", *kinds, points[0].removed.kind],
        [
            [
                f"{point.threshold:.3g}{' *' if point.threshold == evaluation.threshold else ''}",
                *(point.right, point.wrong, point.refused),
                *(f"{one.answered}/{one.of}" for one in (*point.bluffs, point.removed)),
            ]
            for point in points
        ],
    )


def _near(points: Sequence[RefusalPoint], threshold: float) -> Iterator[RefusalPoint]:
    """The point of the threshold in use, and about a dozen spread over the others."""
    step = max(1, len(points) // 12)
    for place, point in enumerate(points):
        if place % step == 0 or place == len(points) - 1 or point.threshold == threshold:
            yield point


def _show_verdict(verdict: Verdict) -> None:
    say(f"gate: {'passed' if verdict.ok else 'NOT PASSED'} against {one_line(verdict.baseline)}")
    for line in (*verdict.reasons, *verdict.notes):
        say(f"  {one_line(line)}")
