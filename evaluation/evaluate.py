"""Evaluate: a question set against an index, and against what the index would be with one stage changed.

check ground truth → embed all questions → rank → scores, losses, refusal → ablations → pairs → findings

Calls no language model and changes nothing. The same index, questions and plan give the same `Evaluation`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from encoders.models import resolve_model
from encoders.wordpieces import WordPieces
from evaluation.checking import check_snapshot, sound
from evaluation.comparing import compare, findings_of, stages_of
from evaluation.losses import Tracer, Way, unextracted
from evaluation.passages import Passages, ground_truth
from evaluation.rebuild import rebuilt
from evaluation.refusal import Distances, sweep, thresholds_for
from evaluation.scoring import MODES, Ranker, distances_of, reranked, scores_of
from retrieval import dense
from retrieval.corpus import Corpus
from retrieval.ranking import Mode
from retrieval.refusal import MOST_PASSAGES
from retrieval.rerank import resolve_reranker
from retrieval.search import Searcher, open_index
from schemas.errors import ModelUnavailable, UsageError
from schemas.evaluation import (
    Evaluation,
    Fault,
    Judge,
    Loss,
    Question,
    QuestionSet,
    Scores,
    Strategy,
    Tallied,
)
from schemas.settings import Settings
from storage.index import Index
from storage.snapshot import Snapshot
from tasks.chunking.chunk import STRATEGIES
from tasks.plan import resolved

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


ABLATION = Plan(chunkers=STRATEGIES, try_rerank=True)
"""Every chunking strategy, and reranking where its weights are on this machine."""


def evaluate(
    path: Path,
    settings: Settings,
    questions: QuestionSet,
    plan: Plan = Plan(),
    say: Say = lambda _line: None,
) -> Evaluation:
    """What `questions` find in the index at `path`, at its newest version. `say` is told of long steps.

    Raises `UsageError` when no question can be judged, and what opening an index, resolving a model and
    reranking raise.
    """
    with _subject(path, settings) as subject:
        faults = check_snapshot(subject.snapshot, questions)
        usable = sound(questions, faults).questions
        if not usable:
            raise UsageError(
                f"no question of {questions.name} can be judged by the index at {path}: "
                f"{'; '.join(f'{fault.id}: {fault.reason}' for fault in faults[:5])}"
            )
        return _Run(subject, questions, usable, faults, plan, say).evaluation()


@dataclass(frozen=True, slots=True)
class Subject:
    """One index, open at one version."""

    settings: Settings  # with the chunker of the index
    snapshot: Snapshot
    searcher: Searcher
    passages: Passages
    ranker: Ranker


@contextmanager
def _subject(path: Path, settings: Settings) -> Iterator[Subject]:
    with ExitStack() as opened:
        index = opened.enter_context(Index.open(path))
        snapshot = opened.enter_context(index.snapshot())
        own = replace(resolved(path, settings), chunker=snapshot.space.chunker)
        searcher = opened.enter_context(open_index(path, own, snapshot.version))
        corpus = Corpus(snapshot)
        yield Subject(own, snapshot, searcher, Passages(snapshot, corpus), Ranker(corpus))


@dataclass(frozen=True, slots=True)
class _Followed:
    """What became of the questions in the index as it is."""

    scores: list[Scores]
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
    ) -> None:
        self._subject = subject
        self._whole = whole
        self._usable = usable
        self._faults = faults
        self._plan = plan
        self._say = say
        self._notes: list[str] = []
        self._rerank = self._can_rerank()
        self._threshold = subject.searcher.threshold().distance if plan.threshold is None else plan.threshold
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

    def _can_rerank(self) -> bool:
        if not (self._plan.rerank or self._plan.try_rerank):
            return False
        try:
            resolve_reranker(self._subject.settings.reranker)
        except ModelUnavailable as error:
            if self._plan.rerank:
                raise
            self._notes.append(f"reranking was not measured: {error}")
            return False
        return True

    def _follow(self) -> _Followed:
        """The index as it is, question by question: what one ranking brought is not kept."""
        subject, plan = self._subject, self._plan
        wordpieces = WordPieces(resolve_model(subject.settings.model))
        vectors = _vectors(subject, self._usable)
        grounds, unjudged = subject.passages.grounds(self._usable, plan.judge)
        ground_of = {ground.question.id: ground for ground in grounds}
        measured = plan.mode != "bm25"
        way = Way(plan.mode, MOST_PASSAGES, self._threshold if measured else None, plan.rerank)
        if not measured:
            self._notes.append("refusal was not measured: BM25 knows no distance")
        tracer = Tracer(subject.passages, wordpieces, way)
        rows: dict[str, list[Sequence[int]]] = {}
        distances, losses = [], []
        for question, vector in zip(self._usable, vectors, strict=True):
            ground = ground_of.get(question.id)
            lists = subject.ranker.rank(question.question, vector, MODES if ground else (plan.mode,))
            if measured:
                evidence: frozenset[int] = ground.evidence if ground else frozenset()
                distances.append(distances_of(question, lists[plan.mode], evidence))
            if ground is None:
                continue
            for mode, listed in lists.items():
                rows.setdefault(_name(subject.settings.chunker, mode), []).append(listed.rows)
            final = self._reranked(question, vector)
            if final is not None:
                name = _name(subject.settings.chunker, "hybrid", rerank=True)
                rows.setdefault(name, []).append(final)
            loss = tracer.trace(ground, lists[plan.mode], final if plan.rerank else None)
            if loss:
                losses.append(loss)
        cost = subject.passages.cost(wordpieces)
        strategies = [_strategy(subject, mode) for mode in MODES]
        strategies += [_strategy(subject, "hybrid", rerank=True)] if self._rerank else []
        return _Followed(
            [scores_of(one, grounds, unjudged, rows.get(one.name, []), cost) for one in strategies],
            distances,
            _with_parts(losses, tracer, subject.snapshot),
        )

    def _reranked(self, question: Question, vector: dense.Vector) -> list[int] | None:
        if not self._rerank:
            return None
        return reranked(self._subject.searcher, self._subject.passages, question, vector)

    def _ablations(self) -> Iterator[Scores]:
        own = self._subject.settings
        for chunker in self._plan.chunkers:
            if chunker != own.chunker:
                yield self._ablation(replace(own, chunker=chunker), chunker)
        for model in self._plan.models:
            name = f"{own.chunker}@{resolve_model(model).name}"
            yield self._ablation(replace(own, model=model), name)

    def _ablation(self, settings: Settings, name: str) -> Scores:
        """The same texts and questions in a temporary index of these settings, in hybrid mode."""
        self._say(f"measuring {name}: chunks and vectors are made again from the stored texts")
        with rebuilt(self._subject.snapshot, settings) as path, _subject(path, settings) as other:
            answerable = [one for one in self._usable if one.answerable]
            grounds, unjudged = other.passages.grounds(answerable, self._plan.judge)
            asked = [ground.question for ground in grounds]
            vectors = _vectors(other, asked)
            rows = [
                other.ranker.rank(question.question, vector, ("hybrid",))["hybrid"].rows
                for question, vector in zip(asked, vectors, strict=True)
            ]
            space = other.snapshot.space
            strategy = Strategy(name, space.chunker, space.model, "hybrid")
            cost = other.passages.cost(WordPieces(resolve_model(settings.model)))
            return scores_of(strategy, grounds, unjudged, rows, cost)


def _name(chunker: str, mode: Mode, rerank: bool = False) -> str:
    if rerank:
        return f"{chunker}/hybrid+rerank"
    return chunker if mode == "hybrid" else f"{chunker}/{mode}"


def _strategy(subject: Subject, mode: Mode, rerank: bool = False) -> Strategy:
    space = subject.snapshot.space
    return Strategy(_name(space.chunker, mode, rerank), space.chunker, space.model, mode, rerank)


def _vectors(subject: Subject, questions: Sequence[Question]) -> dense.Matrix:
    if not questions:
        return np.empty((0, subject.snapshot.space.dimension), dtype=np.float32)
    return subject.searcher.embed_queries([one.question for one in questions])


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
