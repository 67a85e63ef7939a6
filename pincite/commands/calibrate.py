"""`pincite calibrate`: a threshold that was measured, with what it was measured on."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from pincite.console import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    complain,
    one_line,
    print_json,
    print_table,
    say,
)
from pincite.evaluation.calibration import Calibrated, Costs, MeasuredThreshold, calibrate
from pincite.evaluation.distances import Far, measure_distances
from pincite.evaluation.questions import read_questions
from pincite.flows.settings import load_settings
from pincite.retrieval.threshold import DEFAULT_THRESHOLD
from pincite.schemas.evaluation import QuestionSet, Share
from pincite.storage.queries.calibrations import store_calibration
from pincite.storage.snapshots.index import Index

_COLUMNS = ("threshold", "cost", "answered", "right", "wrongly refused")
_SHOWN = 15


def calibrate_index(
    questions: Annotated[Path, typer.Argument(help="A set with answers and with what must be refused.")],
    index: IndexOption = DEFAULT_INDEX,
    bluff_cost: Annotated[float, typer.Option(help="Of an answer where there is none, to a refusal.")] = 1.0,
    refusal_cost: Annotated[float, typer.Option(help="Of a refusal where there is an answer.")] = 1.0,
    mode: Annotated[Literal["hybrid", "dense"], typer.Option(help="Which rankings are used.")] = "hybrid",
    keep: Annotated[bool, typer.Option(help="Make it the index's own; --no-keep only reports.")] = True,
    json: JsonOption = False,
) -> None:
    """Choose the threshold under which passages answer, on one half of the questions; report on the other.

    `pincite ask` uses it from then on, and beside it the least evidence score, where one helps. Wrong
    answers are counted by kind of negative, and with each question's evidence hidden.
    """
    asked = read_questions(questions)
    settings = load_settings()
    with Index.open(index) as opened:
        with opened.held_snapshot() as snapshot:
            far = measure_distances(snapshot, settings, asked, mode)
            chosen = calibrate(far.questions, Costs(bluff_cost, refusal_cost), DEFAULT_THRESHOLD)
            report = {"version": snapshot.version} | _report(chosen, far, asked, mode)
        if keep:
            store_calibration(opened, snapshot.version, chosen.threshold, asked, report)
    if json:
        print_json(report | {"kept": keep})
        return
    for fault in far.faults:
        complain(f"left out {one_line(fault.id)}: {one_line(fault.reason)}")
    for one in far.unjudged:
        complain(f"left out {one_line(one)}: it names chunks that the index does not have")
    _print(chosen, keep, index)


def _report(chosen: Calibrated, far: Far, asked: QuestionSet, mode: str) -> dict[str, object]:
    return {
        "threshold": chosen.threshold,
        "costs": asdict(chosen.costs),
        "mode": mode,
        "questions": {"name": asked.name, "sha256": asked.sha256, "used": len(far.questions)},
        "left_out": [asdict(fault) for fault in far.faults],
        "unjudged": list(far.unjudged),
        "held_out": asdict(chosen.held_out),
        "default": asdict(chosen.default),
        "evidence": chosen.evidence,
        "with_evidence": asdict(chosen.with_evidence) if chosen.with_evidence else None,
        "swept": [asdict(one) for one in chosen.swept],
    }


def _print(chosen: Calibrated, kept: bool, at: Path) -> None:
    kinds = list(chosen.held_out.bluffs)
    wrong = [f"wrong answers: {kind or 'no kind'}" for kind in kinds]
    say("Swept on one half of the questions:")
    print_table([*_COLUMNS, *wrong], [_row(one, chosen.threshold, kinds) for one in _thinned(chosen)])
    say("\nOn the other half, with 95 % Wilson intervals:")
    held = {"chosen": chosen.held_out, "default": chosen.default}
    if chosen.with_evidence:
        held[f"chosen, evidence from {chosen.evidence:g}"] = chosen.with_evidence
    for name, one in held.items():
        say(f"{name}: threshold {one.threshold:g}, cost {one.cost:.3f}")
        for what, share in _lines(one):
            say(f"  {what}: {_interval(share)}")
    if not chosen.evidence:
        say("\nNo evidence score is set: beside the threshold none costs less on the other half.")
    costs = chosen.costs
    say(
        f"\nThreshold {chosen.threshold:g}: the least cost, with a wrong answer at {costs.bluff:g} and a wrong "
        f"refusal at {costs.refusal:g}. " + (f"`pincite ask` on {at} uses it." if kept else "Not kept.")
    )


def _thinned(chosen: Calibrated) -> list[MeasuredThreshold]:
    """Some of the sweep, the chosen threshold among them."""
    step = max(1, len(chosen.swept) // _SHOWN)
    return [
        one
        for place, one in enumerate(chosen.swept)
        if place % step == 0 or one.threshold == chosen.threshold
    ]


def _row(one: MeasuredThreshold, chosen: float, kinds: list[str]) -> list[str]:
    mark = "*" if one.threshold == chosen else " "
    shares = (one.answered, one.right, one.refused, *(one.bluffs.get(kind) for kind in kinds))
    return [f"{mark} {one.threshold:g}", f"{one.cost:.3f}", *(_count(share) for share in shares)]


def _lines(one: MeasuredThreshold) -> Iterator[tuple[str, Share]]:
    yield "answered", one.answered
    yield "answered with a correct passage", one.right
    yield "wrongly refused", one.refused
    for kind, share in one.bluffs.items():
        yield f"wrong answers, {kind or 'no kind'}", share


def _count(share: Share | None) -> str:
    return "–" if share is None else f"{share.count}/{share.of}"


def _interval(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return _count(share)
    return f"{_count(share)} = {share.value:.0%} [{share.low:.0%}, {share.high:.0%}]"
