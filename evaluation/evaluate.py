"""Evaluate: a question set against an index, and against what the index would be with one stage changed.

check ground truth → embed all questions → rank → scores, losses, refusal → ablations → pairs → findings

Calls no language model and changes nothing. The same index, questions and plan give the same `Evaluation`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from pincite.encoders.models import resolve_model
from pincite.evaluation.checking import check_snapshot, sound
from pincite.evaluation.comparing import compare, findings_of, stages_of
from pincite.evaluation.evaluated_index import Subject, open_subject
from pincite.evaluation.losses import Tracer, Way, unextracted
from pincite.evaluation.metrics import first_rank
from pincite.evaluation.passages import ground_truth
from pincite.evaluation.rebuild import rebuilt
from pincite.evaluation.refusal import Distances, sweep, threshold_answering, thresholds_for
from pincite.evaluation.scoring import MODES, distances_of, scores_of
from pincite.retrieval import dense
from pincite.retrieval.ranking import Mode
from pincite.retrieval.rerank import Reranker, resolve_reranker
from pincite.retrieval.threshold import DEFAULT_THRESHOLD, MOST_PASSAGES, threshold_of
from pincite.schemas.errors import ModelUnavailable, UsageError
from pincite.schemas.evaluation import (
    Evaluation,
    Fault,
    Judge,
    Loss,
    Question,
    QuestionSet,
    Strategy,
    StrategyScores,
    Tallied,
)
from pincite.schemas.settings import Settings
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot
from pincite.tasks.chunking.chunk import STRATEGIES

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured beside the index as it is in its three modes."""

    chunkers: tuple[str, ...] = ()  # each in a temporary index of its own
    models: tuple[str, ...] = ()  # likewise, with the index's chunker
    judge: Judge = "content"
    mode: Mode = "hybrid"  # of the main strategy: losses and refusal are its
    rerank: bool = False  # the main strategy reranks; needs the weights
    try_rerank: bool = False  # measure reranking where its weights are here
    threshold: float | None = None  # cosine distance; None is that of the index
    answered: int | None = None
    """Without a threshold: the least one that answers so many answerable questions. For a model that has none."""


AS_IT_IS = Plan()
ABLATION = Plan(chunkers=STRATEGIES, try_rerank=True)
"""Every chunking strategy, and reranking where its weights are on this machine."""


def evaluate(
    index: Index,
    settings: Settings,
    questions: QuestionSet,
    plan: Plan = AS_IT_IS,
    say: Say = lambda _line: None,
) -> Evaluation:
    """What `questions` find in the index, at its newest version. `say` is told of long steps.

    Raises `UsageError` when no question can be judged, and what resolving a model and reranking raise.
    """
    with index.held_snapshot() as snapshot:
        notes = []
        if plan.threshold is None and plan.answered is None:
            found = threshold_of(index)
            plan = replace(plan, threshold=found.distance)
            notes = [found.warning] if found.warning else []
        return evaluate_snapshot(snapshot, settings, questions, plan, say, notes)


def evaluate_snapshot(
    snapshot: Snapshot,
    settings: Settings,
    questions: QuestionSet,
    plan: Plan = AS_IT_IS,
    say: Say = lambda _line: None,
    notes: Sequence[str] = (),
) -> Evaluation:
    """The same of any snapshot, of a space that is not yet searched for instance; settings name its model.

    A plan without a threshold takes the default one. `notes` stand before those of the evaluation.
    """
    subject = open_subject(snapshot, settings)
    faults = check_snapshot(snapshot, questions)
    usable = sound(questions, faults).questions
    if not usable:
        raise UsageError(
            f"no question of {questions.name} can be judged by this index: "
            f"{'; '.join(f'{fault.id}: {fault.reason}' for fault in faults[:5])}"
        )
    return _Run(subject, questions, usable, faults, plan, say, notes).evaluation()


@dataclass(frozen=True, slots=True)
class _Followed:
    """What became of the questions in the index as it is."""

    scores: list[StrategyScores]
    distances: list[Distances]
    losses: list[Loss]


class _Run:
    """One evaluation, step by step."""

    def __init__(
        self,
        subject: Subject,
        whole: QuestionSet,
        usable: Sequence[Question],
        faults: Sequence[Fault],
        plan: Plan,
        say: Say,
        notes: Sequence[str],
    ) -> None:
        self._subject = subject
        self._whole = whole
        self._usable = usable
        self._faults = faults
        self._plan = plan
        self._say = say
        self._notes = list(notes)
        self._reranker = self._find_reranker()
        self._vectors = subject.embed(usable)
        self._grounds, self._unjudged = subject.passages.grounds(usable, plan.judge)
        self._threshold = self._choose_threshold()
        self._main = _name(subject.settings.chunker, plan.mode, plan.rerank)

    def evaluation(self) -> Evaluation:
        questions = self._whole
        followed = self._follow()
        scores = [*followed.scores, *self._ablations()]
        by_name = {one.strategy.name: one for one in scores}
        stages = stages_of(self._main, self._subject.settings.chunker, by_name)
        pairs = compare(stages, by_name, self._usable)
        snapshot = self._subject.snapshot
        paths = [document.path for document in snapshot.documents()]
        lost = unextracted(self._faults, questions.questions, paths)
        return Evaluation(
            set_name=questions.name,
            set_sha256=questions.sha256,
            judge=self._plan.judge,
            version=snapshot.version,
            space=snapshot.space,
            documents=len(paths),
            tally=self._tally(),
            threshold=self._threshold,
            k=MOST_PASSAGES,
            main=self._main,
            strategies=tuple(sorted(scores, key=lambda one: one.strategy.name != self._main)),
            pairs=tuple(pairs),
            findings=tuple(findings_of(pairs, by_name, self._plan.judge)),
            losses=(*lost, *followed.losses),
            refusal=sweep(followed.distances, thresholds_for(followed.distances, [self._threshold])),
            bluffed=tuple(
                one.id for one in followed.distances if not one.answerable and one.bluffs(self._threshold)
            ),
            refused=tuple(
                one.id for one in followed.distances if one.answerable and not one.answered(self._threshold)
            ),
            faults=tuple(self._faults),
            notes=tuple(self._notes),
        )

    def _tally(self) -> Tallied:
        answerable = [one for one in self._usable if one.answerable]
        return Tallied(
            questions=len(self._whole.questions),
            answerable=len(answerable),
            needles=len({ground_truth(one) for one in answerable}),
            unanswerable=len(self._usable) - len(answerable),
            left_out=len(self._faults),
        )

    def _find_reranker(self) -> Reranker | None:
        if not (self._plan.rerank or self._plan.try_rerank):
            return None
        try:
            return resolve_reranker(self._subject.settings.reranker)
        except ModelUnavailable as error:
            if self._plan.rerank:
                raise
            self._notes.append(f"reranking was not measured: {error}")
            return None

    def _choose_threshold(self) -> float:
        plan = self._plan
        if plan.threshold is not None or plan.answered is None or plan.mode == "bm25":
            return DEFAULT_THRESHOLD if plan.threshold is None else plan.threshold
        found = [
            distances_of(
                question, self._subject.ranker.rank(question.question, vector, (plan.mode,))[plan.mode]
            )
            for question, vector in zip(self._usable, self._vectors, strict=True)
            if question.answerable
        ]
        threshold = threshold_answering(plan.answered, found)
        self._notes.append(
            f"the threshold {threshold:g} is the least one that answers {plan.answered} of the questions"
        )
        return threshold

    def _follow(self) -> _Followed:
        """The index as it is, question by question: what one ranking brought is not kept."""
        subject, plan = self._subject, self._plan
        ground_of = {ground.question.id: ground for ground in self._grounds}
        measured = plan.mode != "bm25"
        if not measured:
            self._notes.append("refusal was not measured: BM25 knows no distance")
        way = Way(plan.mode, MOST_PASSAGES, self._threshold if measured else None, plan.rerank)
        tracer = Tracer(subject.passages, subject.wordpieces, way, windows=subject.grows(plan.mode))
        modes: tuple[Mode, ...] = (plan.mode, *(mode for mode in MODES if mode != plan.mode))
        ranks: dict[str, list[int | None]] = {}
        distances, losses = [], []
        for question, vector in zip(self._usable, self._vectors, strict=True):
            ground = ground_of.get(question.id)
            lists = subject.ranker.rank(question.question, vector, modes if ground else modes[:1])
            if measured:
                evidence = ground.rows(subject.grows(plan.mode)) if ground else frozenset[int]()
                distances.append(distances_of(question, lists[plan.mode], evidence))
            if ground is None:
                continue
            found = {  # by strategy
                _name(subject.settings.chunker, mode): first_rank(listed.rows, ground.right(listed.kept))
                for mode, listed in lists.items()
            }
            final = None
            if self._reranker:
                name = _name(subject.settings.chunker, "hybrid", rerank=True)
                reranked = subject.ranker.rerank(question.question, lists["hybrid"], self._reranker)
                found[name] = first_rank(reranked, ground.right(lists["hybrid"].kept))
                final = reranked if plan.rerank else None
            for name, rank in found.items():
                ranks.setdefault(name, []).append(rank)
            if loss := tracer.trace(ground, lists[plan.mode], final):
                losses.append(loss)
        return self._followed(ranks, distances, _with_parts(losses, tracer, subject.snapshot))

    def _followed(
        self, ranks: Mapping[str, list[int | None]], distances: list[Distances], losses: list[Loss]
    ) -> _Followed:
        cost = self._subject.passages.cost(self._subject.wordpieces)
        strategies = [_strategy(self._subject, mode) for mode in MODES]
        strategies += [_strategy(self._subject, "hybrid", rerank=True)] if self._reranker else []
        scores = [
            scores_of(
                one,
                self._grounds,
                self._unjudged,
                ranks.get(one.name, []),
                cost,
                windows=self._subject.grows(one.mode),
            )
            for one in strategies
        ]
        return _Followed(scores, distances, losses)

    def _ablations(self) -> Iterator[StrategyScores]:
        own = self._subject.settings
        for chunker in self._plan.chunkers:
            if chunker != own.chunker:
                yield self._ablation(replace(own, chunker=chunker), chunker)
        for model in self._plan.models:
            name = f"{own.chunker}@{resolve_model(model).name}"
            yield self._ablation(replace(own, model=model), name)

    def _ablation(self, settings: Settings, name: str) -> StrategyScores:
        """The same texts and questions in a temporary index of these settings, in hybrid mode."""
        self._say(f"measuring {name}: chunks and vectors are made again from the stored texts")
        with ExitStack() as opened:
            path = opened.enter_context(rebuilt(self._subject.snapshot, settings))
            index = opened.enter_context(Index.open(path))
            other = open_subject(opened.enter_context(index.snapshot()), settings)
            grounds, unjudged = other.passages.grounds(self._usable, self._plan.judge)
            asked = [ground.question for ground in grounds]
            lists = [
                other.ranker.rank(question.question, vector, ("hybrid",))["hybrid"]
                for question, vector in zip(asked, self._vectors_for(other, asked), strict=True)
            ]
            ranks = [
                first_rank(listed.rows, ground.right(listed.kept))
                for ground, listed in zip(grounds, lists, strict=True)
            ]
            space = other.snapshot.space
            strategy = Strategy(name, space.chunker, space.model, "hybrid")
            cost = other.passages.cost(other.wordpieces)
            return scores_of(strategy, grounds, unjudged, ranks, cost, windows=other.grows("hybrid"))

    def _vectors_for(self, other: Subject, asked: Sequence[Question]) -> dense.Matrix:
        """The vectors of questions in another index; those that are there already where it has the same model."""
        if other.model != self._subject.model:
            return other.embed(asked)
        places = {question.id: place for place, question in enumerate(self._usable)}
        return self._vectors[[places[question.id] for question in asked]]


def _name(chunker: str, mode: Mode, rerank: bool = False) -> str:
    if rerank:
        return f"{chunker}/hybrid+rerank"
    return chunker if mode == "hybrid" else f"{chunker}/{mode}"


def _strategy(subject: Subject, mode: Mode, rerank: bool = False) -> Strategy:
    space = subject.snapshot.space
    return Strategy(_name(space.chunker, mode, rerank), space.chunker, space.model, mode, rerank)


def _with_parts(losses: Sequence[Loss], tracer: Tracer, snapshot: Snapshot) -> list[Loss]:
    """The losses, those of destroyed needles with the chunks between which they were cut."""
    cut = {
        loss.question.needle
        for loss in losses
        if loss.stage == "destroyed by chunking" and loss.question.needle
    }
    places = _places(snapshot, sorted(cut))
    return [
        replace(loss, evidence=tracer.parts(*places[loss.question.needle]))
        if loss.stage == "destroyed by chunking" and loss.question.needle in places
        else loss
        for loss in losses
    ]


def _places(snapshot: Snapshot, needles: Sequence[str]) -> dict[str, tuple[str, int, int]]:
    """(document, start, end) of each needle in the stored texts."""
    found: dict[str, tuple[str, int, int]] = {}
    if not needles:
        return found
    paths = {document.document_id: document.path for document in snapshot.documents()}
    for segment in snapshot.of_kind("texts"):
        for row in snapshot.rows(segment, ("document_id", "text")).to_pylist():
            for needle in needles:
                at = row["text"].find(needle)
                if at >= 0:
                    found[needle] = (paths[row["document_id"]], at, at + len(needle))
    return found
