"""An evaluation as one HTML page that needs nothing beside it: no script, no host, no file.

The page's words are in `report.html.j2`, its looks in `report.css`; here stand the sentences and plots that follow
the numbers. Text of documents and questions is escaped by the template.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from evaluation.comparing import METRICS, decimal
from evaluation.metrics import CUTS
from evaluation.plots import Bar, Duel, Interval, Line, bars, curves, duels, intervals, stacked
from evaluation.refusal import REMOVED
from evaluation.statistics import ALPHA
from schemas.evaluation import LOSS_STAGES, Evaluation, Loss, LossStage, Pair, RefusalPoint, Scores, Share
from schemas.showing import one_line, shown

_HERE = Path(__file__)
_MAIN_CUT = 4  # passages that a reader is given, by which the page sums up
_LOOKS = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot under its title."""

    title: str
    plot: Markup


@dataclass(frozen=True, slots=True)
class Section:
    """Plots, what they mean, and their numbers; `legend` is (class, words)."""

    meaning: tuple[str, ...]
    figures: tuple[Figure, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LossGroup:
    """The questions that one stage lost."""

    stage: LossStage
    losses: tuple[Loss, ...]


def html(evaluation: Evaluation) -> str:
    """The whole page. The same evaluation gives the same bytes."""
    style = _HERE.with_name("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _template().render(
        evaluation=evaluation,
        style=Markup(style),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        summary=_summary(evaluation),
        found=_found(evaluation),
        pairs=_paired(evaluation),
        chunks=_chunks(evaluation),
        refusal=_refusal(evaluation),
        lost=_lost(evaluation),
        groups=_groups(evaluation.losses),
        findings=evaluation.findings,
    )


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"line": one_line, "shown": shown, "decimal": decimal}
    return environment.from_string(_HERE.with_name("report.html.j2").read_text(encoding="utf-8"))


# In short


def _summary(evaluation: Evaluation) -> list[str]:
    main = _main(evaluation)
    if main is None:
        return ["No question of the set has an answer, so there is nothing to find."]
    said = [_recall_words(evaluation, main), _destroyed_words(main)]
    if evaluation.refusal:
        said.append(_refusal_words(evaluation))
    if evaluation.losses:
        said.append(_losses_words(evaluation))
    if evaluation.findings:
        said.append(_stages_words(evaluation))
    return [one for one in said if one]


def _main(evaluation: Evaluation) -> Scores | None:
    """The index as it is; None when no question has an answer."""
    main = next(one for one in evaluation.strategies if one.strategy.name == evaluation.main)
    return main if main.recall[_MAIN_CUT].of else None


def _recall_words(evaluation: Evaluation, main: Scores) -> str:
    share = main.recall[_MAIN_CUT]
    return (
        f"The index as it is puts a right passage among the first {_MAIN_CUT} for {share.count} of {share.of} "
        f"questions: {_percent(share.value)}. With other questions of the same kind it would most likely be between "
        f"{_percent(share.low)} and {_percent(share.high)}."
    )


def _destroyed_words(main: Scores) -> str:
    share = main.destroyed
    if not share.of:
        return ""
    if not share.count:
        return f"Of {share.of} answers none was cut in two when the documents were parted into passages."
    return (
        f"{share.count} of {share.of} answers were cut in two when the documents were parted into passages. No "
        "search can find those."
    )


def _refusal_words(evaluation: Evaluation) -> str:
    point = _in_use(evaluation)
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
    bluffs = f"it answers {answered} of {of} questions to which the documents have no answer (bluffs)"
    return f"At the threshold {point.threshold:g} {bluffs}{f', and {refused}' if refused else ''}."


def _in_use(evaluation: Evaluation) -> RefusalPoint:
    return min(evaluation.refusal, key=lambda point: abs(point.threshold - evaluation.threshold))


def _losses_words(evaluation: Evaluation) -> str:
    groups = sorted(_groups(evaluation.losses), key=lambda group: -len(group.losses))
    first, count = groups[0], len(evaluation.losses)
    return (
        f"Of {_questions(evaluation.tally.answerable)} {count} get no right passage among the first {evaluation.k} "
        f"under the threshold. The stage that loses most is “{first.stage}”: {len(first.losses)} of {count}."
    )


def _stages_words(evaluation: Evaluation) -> str:
    """By the pairs whose test says that it is no chance, whatever the measure."""
    telling = [pair for pair in evaluation.pairs if _telling(pair)]
    helps = dict.fromkeys(_what_changes(pair) for pair in telling if len(pair.won) > len(pair.lost))
    harms = dict.fromkeys(_what_changes(pair) for pair in telling if len(pair.won) < len(pair.lost))
    count = len({(pair.stage, pair.first, pair.second) for pair in evaluation.pairs})
    said = [f"shown to help: {', '.join(helps)}"] if helps else []
    said += [f"shown to harm: {', '.join(harms)}"] if harms else []
    return (
        f"{count} comparisons were made; {'; '.join(said) or 'in none is the difference more than chance'}."
    )


# Recall


def _found(evaluation: Evaluation) -> Section:
    strategies = evaluation.strategies
    figures = tuple(
        Figure(
            f"A right passage among the first {k}" if k > 1 else "The first passage is right",
            Markup(intervals(f"Recall@{k}", _recall_description(strategies, k), _recall_rows(evaluation, k))),
        )
        for k in CUTS
    )
    columns = ("strategy", *(f"Recall@{k}" for k in CUTS), "MRR")
    rows = tuple(
        (
            _name(evaluation, one.strategy.name),
            *(_with_interval(one.recall[k]) for k in CUTS),
            "–"
            if one.mrr.value is None
            else f"{one.mrr.value:.3f} [{decimal(one.mrr.low)}, {decimal(one.mrr.high)}]",
        )
        for one in strategies
    )
    main = _main(evaluation)
    meaning = (_recall_words(evaluation, main),) if main else ()
    return Section((*meaning, *_best_words(evaluation)), figures, columns, rows)


def _recall_rows(evaluation: Evaluation, k: int) -> list[Interval]:
    return [
        Interval(
            _name(evaluation, one.strategy.name),
            _counted(one.recall[k]),
            one.recall[k].value,
            one.recall[k].low,
            one.recall[k].high,
            main=one.strategy.name == evaluation.main,
        )
        for one in evaluation.strategies
    ]


def _recall_description(strategies: Sequence[Scores], k: int) -> str:
    return "; ".join(f"{one.strategy.name} {_counted(one.recall[k])}" for one in strategies)


def _best_words(evaluation: Evaluation) -> list[str]:
    if len(evaluation.strategies) < 2:
        return []
    return [
        "Where two lines overlap, the dots alone don't say which is better: both answered the same questions, so the "
        "comparisons question by question below are the fairer test."
    ]


def _name(evaluation: Evaluation, name: str) -> str:
    return f"{name} (in use)" if name == evaluation.main else name


# Pairs


def _paired(evaluation: Evaluation) -> Section:
    recalls = [pair for pair in evaluation.pairs if pair.metric in METRICS[: len(CUTS)]]
    most = max((max(len(pair.won), len(pair.lost)) for pair in recalls), default=1)
    figures = tuple(
        Figure(
            f"Right among the first {k}" if k > 1 else "Right at the first place",
            Markup(_duels(recalls, k, most)),
        )
        for k in CUTS
        if recalls
    )
    columns = ("what changes", "from", "to", "measure", "won", "lost", "p", "p, Holm")
    rows = tuple(
        (
            pair.stage,
            pair.first,
            pair.second,
            pair.metric,
            str(len(pair.won)),
            str(len(pair.lost)),
            decimal(pair.p),
            decimal(pair.p_holm) if pair.resolvable else f"{decimal(pair.p_holm)} (can't be resolved)",
        )
        for pair in evaluation.pairs
    )
    telling = [pair for pair in recalls if _telling(pair)]
    meaning = (
        f"In {len(telling)} of {len(recalls)} rows the difference is more than chance would make; those are drawn "
        "full. A pale row may be luck.",
    )
    return Section(
        meaning if recalls else (),
        figures,
        columns,
        rows,
        (("won", "only the second finds it"), ("lost", "only the first")),
    )


def _duels(pairs: Sequence[Pair], k: int, most: int) -> str:
    chosen = [pair for pair in pairs if pair.metric == f"recall@{k}"]
    rows = [
        Duel(
            _what_changes(pair),
            f"p {_with_sign(pair.p_holm)}" if pair.resolvable else "too few to tell",
            len(pair.won),
            len(pair.lost),
            _telling(pair),
        )
        for pair in chosen
    ]
    description = "; ".join(f"{row.label}: won {row.won}, lost {row.lost}, {row.figure}" for row in rows)
    return duels(f"Wins and losses on Recall@{k}", description, rows, most)


def _what_changes(pair: Pair) -> str:
    """ "header (E for C)"; of two legs of one index only the legs are named."""
    first, second = (name.partition("/") for name in (pair.first, pair.second))
    if "instead" in pair.stage:
        return pair.stage
    if first[0] == second[0]:
        return f"{pair.stage} ({second[2] or 'hybrid'} for {first[2] or 'hybrid'})"
    return f"{pair.stage} ({pair.second} for {pair.first})"


def _telling(pair: Pair) -> bool:
    return pair.p_holm is not None and pair.p_holm < ALPHA


def _with_sign(p: float | None) -> str:
    return "<0.001" if p is not None and p < 0.0005 else f"= {decimal(p)}"


# Chunks


def _chunks(evaluation: Evaluation) -> Section:
    """One row a way of cutting: the legs of one index share its chunks."""
    indexes = {(one.strategy.chunker, one.strategy.model): one for one in reversed(evaluation.strategies)}
    chosen = list(reversed(indexes.values()))
    name = {id(one): _index_name(one, evaluation) for one in chosen}
    rows = [
        Interval(
            name[id(one)],
            f"{one.destroyed.count} of {one.destroyed.of}",
            one.destroyed.value,
            one.destroyed.low,
            one.destroyed.high,
            main=one.strategy.name == evaluation.main,
        )
        for one in chosen
    ]
    description = "; ".join(f"{row.label} {row.figure}" for row in rows)
    plot = Figure("Answers destroyed", Markup(intervals("Answers destroyed", description, rows)))
    columns = (
        "cut by",
        "destroyed",
        "in the embedded text",
        "passages",
        "word-pieces",
        "of them header",
        "over the window",
    )
    table = tuple(
        (
            name[id(one)],
            f"{one.destroyed.count} of {one.destroyed.of}",
            str(one.destroyed_in_text.count),
            f"{one.cost.chunks:,}",
            f"{one.cost.tokens:,}",
            _percent(one.cost.header_share),
            str(one.cost.over_window),
        )
        for one in chosen
    )
    main = _main(evaluation)
    return Section((_destroyed_words(main),) if main else (), (plot,) if main else (), columns, table)


def _index_name(scores: Scores, evaluation: Evaluation) -> str:
    strategy = scores.strategy
    other = strategy.model != evaluation.space.model
    return f"{strategy.chunker}@{strategy.model}" if other else strategy.chunker


# Refusal


def _refusal(evaluation: Evaluation) -> Section:
    points = evaluation.refusal
    if not points:
        return Section((), (), (), ())
    x = [point.threshold for point in points]
    figures = []
    asked = points[0].right + points[0].wrong + points[0].refused
    if asked:
        figures.append(
            Figure(f"{asked} questions that have an answer", Markup(_answered(evaluation, x, asked)))
        )
    lines = _bluff_lines(points)
    words = ", ".join(line.label for line in lines)
    description = f"Share that is answered all the same, by threshold: {words}. {_refusal_words(evaluation)}"
    plot = curves("Questions that must get no answer", description, x, lines, evaluation.threshold)
    figures.append(Figure("Questions that must get no answer: answered all the same", Markup(plot)))
    legend = (
        [("right", "right passage handed over"), ("wrong", "only wrong ones"), ("refused", "refused")]
        if asked
        else []
    )
    legend += [(f"key-{line.look}", line.label) for line in lines]
    kinds = [one.kind or "no kind" for one in points[0].bluffs]
    columns = ("threshold", "right", "wrong", "refused", *(f"bluffs: {kind}" for kind in kinds), REMOVED)
    rows = tuple(
        (
            f"{point.threshold:g}{' (in use)' if point is _in_use(evaluation) else ''}",
            *(str(count) for count in (point.right, point.wrong, point.refused)),
            *(f"{one.answered} of {one.of}" for one in (*point.bluffs, point.removed)),
        )
        for point in points
    )
    return Section((_refusal_words(evaluation),), tuple(figures), columns, rows, tuple(legend))


def _answered(evaluation: Evaluation, x: Sequence[float], asked: int) -> str:
    points = evaluation.refusal
    layers = [
        Line("right", "right", tuple(point.right / asked for point in points)),
        Line("wrong", "wrong", tuple(point.wrong / asked for point in points)),
        Line("refused", "refused", tuple(point.refused / asked for point in points)),
    ]
    point = _in_use(evaluation)
    counts = f"{point.right} right, {point.wrong} wrong, {point.refused} refused of {asked}"
    description = f"At the threshold {point.threshold:g}: {counts}."
    return stacked("Questions that have an answer", description, x, layers, evaluation.threshold)


def _bluff_lines(points: Sequence[RefusalPoint]) -> list[Line]:
    lines = []
    for place, kind in enumerate(points[0].bluffs):
        if kind.of:
            shares = tuple(point.bluffs[place].answered / kind.of for point in points)
            lines.append(Line(f"{kind.kind or 'no kind'} ({kind.of})", _LOOKS[place % len(_LOOKS)], shares))
    removed = points[0].removed
    if removed.of:
        shares = tuple(point.removed.answered / removed.of for point in points)
        lines.append(
            Line(f"{REMOVED}: the answerable ones, their passages hidden ({removed.of})", "control", shares)
        )
    return lines


# Losses


_MEANINGS: dict[LossStage, str] = {
    "not extracted": "the words of the answer were not read from the document",
    "destroyed by chunking": "the answer was cut in two; no passage holds it whole",
    "truncated by the encoder": "the passage is too long for the embedding model, which did not read the answer",
    "not in dense top k": "search by meaning ranks the passage too low",
    "not in BM25 top k": "search by words ranks the passage too low",
    "in neither leg": "search by meaning and search by words both rank the passage too low",
    "lost in fusion": "one of the two searches had it in front, both joined had not",
    "refused": "found, but farther away than the threshold allows",
    "folded away": "another passage that says nearly the same was shown in its place",
    "lost in rerank": "found, and put back by the reranker",
}


def _groups(losses: Sequence[Loss]) -> list[LossGroup]:
    """In the order in which a question travels; stages that lost nothing are left out."""
    found = [LossGroup(stage, tuple(one for one in losses if one.stage == stage)) for stage in LOSS_STAGES]
    return [group for group in found if group.losses]


def _lost(evaluation: Evaluation) -> Section:
    groups = _groups(evaluation.losses)
    if not groups:
        return Section(("No question was lost.",), (), (), ())
    rows = [Bar(group.stage, len(group.losses)) for group in groups]
    description = "; ".join(f"{row.label} {row.count}" for row in rows)
    figure = Figure(
        "Questions lost, by the first stage that lost them", Markup(bars("Losses", description, rows))
    )
    table = tuple((group.stage, str(len(group.losses)), _MEANINGS[group.stage]) for group in groups)
    return Section((_losses_words(evaluation),), (figure,), ("stage", "questions", "what happened"), table)


# Figures


def _questions(count: int) -> str:
    return "1 question" if count == 1 else f"{count} questions"


def _counted(share: Share) -> str:
    return "–" if share.value is None else f"{_percent(share.value)} ({share.count} of {share.of})"


def _with_interval(share: Share) -> str:
    if share.value is None:
        return "–"
    return f"{share.value:.3f} [{decimal(share.low)}, {decimal(share.high)}]"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
