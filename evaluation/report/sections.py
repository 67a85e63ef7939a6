"""The parts of an evaluation's page: plots, what they mean in a sentence, and the same numbers as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pincite.evaluation.comparing import METRICS
from pincite.evaluation.metrics import CUTS
from pincite.evaluation.refusal import REMOVED
from pincite.evaluation.report.plots import Bar, CurveLine, Duel, Interval, plot
from pincite.evaluation.report.wording import (
    destroyed_words,
    in_use,
    loss_groups,
    losses_words,
    main_scores,
    percent,
    recall_words,
    refusal_words,
    telling,
    what_changes,
)
from pincite.schemas.counting import counted, decimal
from pincite.schemas.evaluation import Evaluation, LossStage, Pair, RefusalPoint, Share, StrategyScores

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


# Recall


def found(evaluation: Evaluation) -> Section:
    strategies = evaluation.strategies
    figures = tuple(
        Figure(
            f"A right passage among the first {k}" if k > 1 else "The first passage is right",
            plot("intervals", f"Recall@{k}", _recall_description(strategies, k), _recall_rows(evaluation, k)),
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
    main = main_scores(evaluation)
    meaning = (recall_words(evaluation, main),) if main else ()
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


def _recall_description(strategies: Sequence[StrategyScores], k: int) -> str:
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


def paired(evaluation: Evaluation) -> Section:
    recalls = [pair for pair in evaluation.pairs if pair.metric in METRICS[: len(CUTS)]]
    most = max((max(len(pair.won), len(pair.lost)) for pair in recalls), default=1)
    figures = tuple(
        Figure(
            f"Right among the first {k}" if k > 1 else "Right at the first place",
            _duels(recalls, k, most),
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
    certain = [pair for pair in recalls if telling(pair)]
    meaning = (
        f"In {len(certain)} of {counted(len(recalls), 'row')} the difference is more than chance would make; those "
        "are drawn full. A pale row may be luck.",
    )
    return Section(
        meaning if recalls else (),
        figures,
        columns,
        rows,
        (("won", "only the second finds it"), ("lost", "only the first")),
    )


def _duels(pairs: Sequence[Pair], k: int, most: int) -> Markup:
    chosen = [pair for pair in pairs if pair.metric == f"recall@{k}"]
    rows = [
        Duel(
            what_changes(pair),
            f"p {_with_sign(pair.p_holm)}" if pair.resolvable else "too few to tell",
            len(pair.won),
            len(pair.lost),
            telling(pair),
        )
        for pair in chosen
    ]
    description = "; ".join(f"{row.label}: won {row.won}, lost {row.lost}, {row.figure}" for row in rows)
    return plot("duels", f"Wins and losses on Recall@{k}", description, rows, most)


def _with_sign(p: float | None) -> str:
    return "<0.001" if p is not None and p < 0.0005 else f"= {decimal(p)}"


# Chunks


def chunks(evaluation: Evaluation) -> Section:
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
    figure = Figure("Answers destroyed", plot("intervals", "Answers destroyed", description, rows))
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
            percent(one.cost.header_share),
            str(one.cost.over_window),
        )
        for one in chosen
    )
    main = main_scores(evaluation)
    return Section((destroyed_words(main),) if main else (), (figure,) if main else (), columns, table)


def _index_name(scores: StrategyScores, evaluation: Evaluation) -> str:
    strategy = scores.strategy
    other = strategy.model != evaluation.space.model
    return f"{strategy.chunker}@{strategy.model}" if other else strategy.chunker


# Refusal


def refusal(evaluation: Evaluation) -> Section:
    points = evaluation.refusal
    if not points:
        return Section((), (), (), ())
    x = [point.threshold for point in points]
    figures = []
    asked = points[0].right + points[0].wrong + points[0].refused
    if asked:
        figures.append(
            Figure(
                f"{counted(asked, 'question that has', 'questions that have')} an answer",
                _answered(evaluation, x, asked),
            )
        )
    lines = _bluff_lines(points)
    words = ", ".join(line.label for line in lines)
    description = f"Share that is answered all the same, by threshold: {words}. {refusal_words(evaluation)}"
    drawn = plot("curves", "Questions that must get no answer", description, x, lines, evaluation.threshold)
    figures.append(Figure("Questions that must get no answer: answered all the same", drawn))
    legend = (
        [("right", "right passage handed over"), ("wrong", "only wrong ones"), ("refused", "refused")]
        if asked
        else []
    )
    legend += [(f"key-{line.look}", line.label) for line in lines]
    wrong = [f"wrong answers: {one.kind or 'no kind'}" for one in points[0].bluffs]
    columns = ("threshold", "right", "wrong passage", "refused", *wrong, REMOVED)
    rows = tuple(
        (
            f"{point.threshold:g}{' (in use)' if point is in_use(evaluation) else ''}",
            *(str(count) for count in (point.right, point.wrong, point.refused)),
            *(f"{one.answered} of {one.of}" for one in (*point.bluffs, point.removed)),
        )
        for point in points
    )
    return Section((refusal_words(evaluation),), tuple(figures), columns, rows, tuple(legend))


def _answered(evaluation: Evaluation, x: Sequence[float], asked: int) -> Markup:
    points = evaluation.refusal
    layers = [
        CurveLine("right", "right", tuple(point.right / asked for point in points)),
        CurveLine("wrong", "wrong", tuple(point.wrong / asked for point in points)),
        CurveLine("refused", "refused", tuple(point.refused / asked for point in points)),
    ]
    point = in_use(evaluation)
    counts = f"{point.right} right, {point.wrong} wrong, {point.refused} refused of {asked}"
    description = f"At the threshold {point.threshold:g}: {counts}."
    return plot("stacked", "Questions that have an answer", description, x, layers, evaluation.threshold)


def _bluff_lines(points: Sequence[RefusalPoint]) -> list[CurveLine]:
    lines = []
    for place, kind in enumerate(points[0].bluffs):
        if kind.of:
            shares = tuple(point.bluffs[place].answered / kind.of for point in points)
            lines.append(
                CurveLine(f"{kind.kind or 'no kind'} ({kind.of})", _LOOKS[place % len(_LOOKS)], shares)
            )
    removed = points[0].removed
    if removed.of:
        shares = tuple(point.removed.answered / removed.of for point in points)
        lines.append(
            CurveLine(
                f"{REMOVED}: the answerable ones, their passages hidden ({removed.of})", "control", shares
            )
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
    "lost in windows": "found, but passages before it show parts of the answer",
    "lost in rerank": "found, and put back by the reranker",
}


def lost(evaluation: Evaluation) -> Section:
    groups = loss_groups(evaluation.losses)
    if not groups:
        return Section(("No question was lost.",), (), (), ())
    rows = [Bar(group.shown, len(group.losses)) for group in groups]
    description = "; ".join(f"{row.label} {row.count}" for row in rows)
    figure = Figure(
        "Questions lost, by the first stage that lost them", plot("bars", "Losses", description, rows)
    )
    table = tuple((group.shown, str(len(group.losses)), _MEANINGS[group.stage]) for group in groups)
    return Section((losses_words(evaluation),), (figure,), ("stage", "questions", "what happened"), table)


# Figures


def _counted(share: Share) -> str:
    return "–" if share.value is None else f"{percent(share.value)} ({share.count} of {share.of})"


def _with_interval(share: Share) -> str:
    if share.value is None:
        return "–"
    return f"{share.value:.3f} [{decimal(share.low)}, {decimal(share.high)}]"
