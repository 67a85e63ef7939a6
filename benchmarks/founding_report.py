"""The page `docs/founding-measurement.md` from what `benchmarks/founding_measurement.py` measured.

The words that don't change stand in `founding_measurement.md.j2`. Every verdict is drawn from its test: the same
command on other numbers writes other words.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from benchmarks.founding_corpus import Readme
from pincite.evaluation.comparing import DESTROYED, Stage, compare
from pincite.evaluation.metrics import CUTS
from pincite.evaluation.statistics import ALPHA, resolvable, sign_test
from pincite.schemas.evaluation import Judge, Pair, QuestionSet, RefusalPoint, Share, StrategyScores

REPORT = "founding-measurement.md"
TEMPLATE = Path(__file__).with_name("founding_measurement.md.j2")
ORDER = ("A", "B", "C", "D", "E", "F", "structural")
JUDGES: tuple[Judge, ...] = ("content", "text")
Key = tuple[str, str, Judge]
"""(chunker, mode, where the expected sentence is looked for)."""

STAGES = (
    Stage("overlap", "A", "B"),
    Stage("boundaries", "A", "C"),
    Stage("overlap", "C", "D"),
    Stage("header", "C", "E"),
    Stage("overlap", "E", "F"),
    Stage("boundaries and header", "A", "E"),
    Stage("default", "E", "structural"),
    Stage("default", "A", "structural"),
)
_RULE = "|---|" + "---|" * len(CUTS)
_RECALLS = " | ".join(f"R@{k}" for k in CUTS)


@dataclass(frozen=True, slots=True)
class Measured:
    """What every strategy reached on one set."""

    questions: QuestionSet
    documents: int
    characters: int
    sections: int  # lines that begin with "## " in all texts
    scores: Mapping[Key, StrategyScores]
    headers: Mapping[
        str, tuple[int | None, ...]
    ]  # form of the default's header to the dense rank of each question
    refusal: tuple[RefusalPoint, ...]  # of the default, dense

    def of(self, chunker: str, mode: str = "dense", judge: Judge = "content") -> StrategyScores:
        return self.scores[chunker, mode, judge]

    def pairs(self, mode: str, judge: Judge = "content") -> list[Pair]:
        """Recalls of all stages, with Holm's correction over the stages of each."""
        scores = {chunker: self.of(chunker, mode, judge) for chunker in ORDER}
        found = compare(STAGES, scores, self.questions.questions)
        return [pair for pair in found if pair.metric != DESTROYED]


def report(founding: Measured, own: Measured, readmes: Sequence[Readme], kept: int) -> str:
    """`kept`: texts whose vectors came from an earlier run."""
    page = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    return page.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        founding=founding,
        own=own,
        readmes=readmes,
        kept=kept,
        today=f"{date.today():%-d %B %Y}",
        model=founding.of("structural").strategy.model,
        torch=version("torch"),
        sentence_transformers=version("sentence-transformers"),
        python=platform.python_version(),
        founding_count=sum(one.answerable for one in founding.questions.questions),
        asked=_asked,
        blind=_blind,
        destroyed=_destroyed,
        header_share=_header_share,
        saved=_saved,
        overlap=_overlap,
        stage=_stage,
        costs=_costs,
        recalls=_recalls,
        pairs=_pairs,
        headers=_headers,
        decision=_decision,
        refusal=_refusal,
    )


# Sentences


def _asked(measured: Measured) -> str:
    answerable = [one for one in measured.questions.questions if one.answerable]
    needles = len({one.needle for one in answerable})
    return f"{len(answerable)} questions on {needles} expected sentences"


def _blind(measured: Measured) -> str:
    word = "Yes" if measured.of("A").destroyed.count else "No"
    return f"{word}: A destroys {_destroyed(measured, 'A')}, C {_destroyed(measured, 'C')}."


def _destroyed(measured: Measured, chunker: str, judge: Judge = "content") -> str:
    scores = measured.of(chunker)
    share = scores.destroyed if judge == "content" else scores.destroyed_in_text
    return f"{share.count} of {share.of} ({_percent(share)})"


def _header_share(measured: Measured, chunker: str) -> str:
    return f"{measured.of(chunker).cost.header_share or 0:.1%}"


def _saved(measured: Measured) -> str:
    return (
        f"In the embedded text B still destroys {_destroyed(measured, 'B', 'text')}. In what is quoted it can save "
        f"nothing, because overlap never enters it: {_destroyed(measured, 'B')}."
    )


def _overlap(measured: Measured) -> str:
    """Judged by what is quoted and by what is embedded, where overlap has its best case."""
    both = [pair for judge in JUDGES for pair in measured.pairs("dense", judge) if pair.stage == "overlap"]
    better = [pair for pair in both if _significant(pair) and len(pair.won) > len(pair.lost)]
    worse = [pair for pair in both if _significant(pair) and len(pair.won) < len(pair.lost)]
    if better:
        return f"Yes: {_listed(better)}."
    hurts = f" It hurts: {_listed(worse)}." if worse else ""
    return f"No: {_listed([pair for pair in both if pair.metric == 'recall@20'][:3])}.{hurts}"


def _stage(measured: Measured, name: str) -> str:
    pairs = [pair for pair in measured.pairs("dense") if pair.stage == name]
    better = [pair for pair in pairs if _significant(pair) and len(pair.won) > len(pair.lost)]
    worse = [pair for pair in pairs if _significant(pair) and len(pair.won) < len(pair.lost)]
    verdict = "No, it is worse" if worse else "Yes" if better else "Not shown"
    return f"{verdict}: {'; '.join(f'{_r(pair)} {_test(pair)}' for pair in better or worse or pairs)}."


def _listed(pairs: Sequence[Pair]) -> str:
    words = dict.fromkeys(f"{one.second} for {one.first} on {_r(one)} {_test(one)}" for one in pairs)
    return "; ".join(words)


def _significant(pair: Pair) -> bool:
    return pair.p_holm is not None and pair.p_holm < ALPHA


# Tables


def _costs(measured: Measured) -> str:
    rows = [
        "| | chunks | word-pieces | of them header | over the window | answers destroyed | in the embedded text |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for chunker in ORDER:
        scores, cost = measured.of(chunker), measured.of(chunker).cost
        share = _header_share(measured, chunker) if cost.header_share else "–"
        rows.append(
            f"| {chunker} | {cost.chunks:,} | {cost.tokens:,} | {share} | {cost.over_window} | "
            f"{scores.destroyed.count} of {scores.destroyed.of} | {scores.destroyed_in_text.count} |"
        )
    return "\n".join(rows)


def _recalls(measured: Measured, mode: str) -> str:
    rows = [f"| | {_RECALLS} | MRR |", f"{_RULE}---|"]
    for chunker in ORDER:
        scores = measured.of(chunker, mode)
        cells = " | ".join(_interval(scores.recall[k]) for k in CUTS)
        rows.append(f"| {chunker} | {cells} | {scores.mrr.value:.3f} |")
    return "\n".join(rows)


def _pairs(measured: Measured, mode: str, judge: Judge) -> str:
    """By the embedded text only what overlap changes."""
    rows = [f"| second for first | {_RECALLS} |", _RULE]
    found = measured.pairs(mode, judge)
    for stage in STAGES:
        if judge == "text" and stage.name != "overlap":
            continue
        cells = [_test(pair) for pair in found if (pair.first, pair.second) == (stage.first, stage.second)]
        rows.append(f"| {stage.name}: {stage.second} for {stage.first} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _headers(measured: Measured, name: str) -> str:
    rows = [f"| {name} | {_RECALLS} |", _RULE]
    whole = measured.headers["whole path"]
    for form, ranks in measured.headers.items():
        cells = []
        for k in CUTS:
            found, base = ([rank is not None and rank <= k for rank in one] for one in (ranks, whole))
            won = sum(one and not other for one, other in zip(found, base, strict=True))
            lost = sum(other and not one for one, other in zip(found, base, strict=True))
            test = "" if form == "whole path" else f", {_counts(won, lost)}"
            cells.append(f"{sum(found) / len(found):.3f}{test}")
        rows.append(f"| {form} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _decision(founding: Measured, own: Measured) -> str:
    rows = [
        f"| default for E | destroyed, default / E | {_RECALLS} | significantly worse on |",
        f"{_RULE}---|---|",
    ]
    for name, measured in (("READMEs", founding), ("samples and docs", own)):
        counts = " / ".join(str(measured.of(one).destroyed.count) for one in ("structural", "E"))
        for mode in ("rrf", "dense", "bm25"):
            pairs = [
                pair for pair in measured.pairs(mode) if pair.first == "E" and pair.second == "structural"
            ]
            worse = [
                _r(pair)
                for pair in pairs
                if pair.p is not None and pair.p < ALPHA and len(pair.lost) > len(pair.won)
            ]
            cells = " | ".join(_counts(len(pair.won), len(pair.lost)) for pair in pairs)
            rows.append(f"| {name}, {mode} | {counts} | {cells} | {', '.join(worse) or 'nothing'} |")
    return "\n".join(rows)


def _refusal(measured: Measured, name: str) -> str:
    kinds = [one.kind for one in measured.refusal[0].bluffs]
    wrong = " | ".join(f"wrong answers: {kind}" for kind in kinds)
    rows = [
        f"| {name} | right | wrong passage | wrongly refused | {wrong} | evidence removed |",
        "|---|---|---|---|" + "---|" * (len(kinds) + 1),
    ]
    for point in measured.refusal:
        threshold = f"{point.threshold:.3f}" if point.threshold < 2 else "none"
        counts = " | ".join(f"{one.answered} of {one.of}" for one in (*point.bluffs, point.removed))
        rows.append(f"| {threshold} | {point.right} | {point.wrong} | {point.refused} | {counts} |")
    return "\n".join(rows)


# Figures


def _interval(share: Share) -> str:
    return "–" if share.value is None else f"{share.value:.3f} [{share.low:.2f}, {share.high:.2f}]"


def _percent(share: Share) -> str:
    return "–" if share.value is None else f"{share.value:.0%}, interval {share.low:.0%} to {share.high:.0%}"


def _r(pair: Pair) -> str:
    return pair.metric.replace("recall", "R")


def _test(pair: Pair) -> str:
    """The counts with p, and p after Holm's correction."""
    counts = _counts(len(pair.won), len(pair.lost))
    if pair.p_holm is None or not pair.resolvable:
        return counts
    return f"{counts}, Holm {_p(pair.p_holm)}"


def _counts(won: int, lost: int) -> str:
    """ "+12/−2, p = .013"; without p where no outcome could have been significant."""
    p = sign_test(won, lost)
    return f"+{won}/−{lost}" if p is None or not resolvable(won, lost) else f"+{won}/−{lost}, p {_p(p)}"


def _p(p: float) -> str:
    """ "= .013", "< .001"."""
    if p < 0.0005:
        return "< .001"
    return "= 1" if p > 0.9995 else f"= {f'{p:.3f}'.removeprefix('0')}"
