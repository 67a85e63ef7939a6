"""The loss ledger: for every question that gets no correct passage, the first stage that lost it.

A question is missed when none of the passages that would be handed over (the first `k` under the threshold, after
folding) is correct. The stages in the order in which a question travels:

    not extracted             its words stand in no stored text; such a question is left out of all other figures
    destroyed by chunking     no chunk holds the needle whole (of pages: no chunk stands on one)
    truncated by the encoder  not in the dense top k, and in every right chunk the needle ends beyond the window
    not in dense top k        in dense mode
    not in BM25 top k         in BM25 mode
    in neither leg            in hybrid mode, when not one of the two legs has a right chunk in its top k: no fusion
                              of the two could be blamed
    lost in fusion            one leg alone has it in its top k, the fused list has not
    refused                   it is in the top k, and every right chunk there lies over the threshold
    lost in windows           a better window shows a part of it, so that its own shows the rest of its chunk alone
    folded away               another passage stands for it that says nearly the same, and lacks the needle
    lost in rerank            the cross-encoder read it and put it behind the first k

The top k of the legs and of the fusion is what the next stage takes: `k`, or with a reranker the 25 that it reads.
A fused list can have in its top k what neither leg had there (both had it just below): that is no loss.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pincite.encoders.wordpieces import WordPieces
from pincite.evaluation.passages import Ground, Passages
from pincite.evaluation.scoring import QuestionRanking
from pincite.retrieval.ranking import LEG_DEPTH, Mode, Ranked
from pincite.retrieval.rerank import RERANK_DEPTH
from pincite.retrieval.threshold import under_cut
from pincite.schemas.evaluation import Fault, Loss, LossStage, Question, ShownPassage

_SHOWN = 3  # right passages, at most


@dataclass(frozen=True, slots=True)
class Way:
    """How the main strategy hands passages over."""

    mode: Mode
    k: int
    threshold: float | None  # None in BM25 mode, which measures no distance
    rerank: bool

    @property
    def depth(self) -> int:
        return RERANK_DEPTH if self.rerank else self.k


class Tracer:
    """Follows questions through one index."""

    def __init__(
        self, passages: Passages, wordpieces: WordPieces, way: Way, *, windows: bool = False
    ) -> None:
        """`windows`: the passages that are handed over are windows."""
        self._passages = passages
        self._windows = windows
        self._wordpieces = wordpieces
        self._way = way

    def handed(self, listed: QuestionRanking, final: Sequence[int] | None = None) -> list[int]:
        """The rows that are handed over. `final` is the reranked order, where there is one."""
        ordered = self._ordered(listed) if final is None else _at(listed, final)
        threshold, k = self._way.threshold, self._way.k
        if threshold is None:
            return [row for row, _ in islice(ordered, k)]
        rows: list[int] = []

        def distances() -> Iterator[float | None]:
            for row, distance in ordered:
                rows.append(row)
                yield distance

        return [rows[place] for place in under_cut(distances(), threshold, k)]

    def _ordered(self, listed: QuestionRanking) -> Iterator[tuple[int, float | None]]:
        """Rows with their distances, folded as far as was looked, then as they rank."""
        hidden = {row for one in listed.kept for row in (one.row, *one.folded)}
        for one in listed.kept:
            yield one.row, one.cut_distance
        for one in listed.ranked:
            if one.row not in hidden:
                yield one.row, one.cut_distance

    def trace(
        self, ground: Ground, listed: QuestionRanking, final: Sequence[int] | None = None
    ) -> Loss | None:
        """None when a correct passage is handed over."""
        handed = self.handed(listed, final)
        if not ground.right(listed.kept).isdisjoint(handed):
            return None
        answering = ground.rows(self._windows)
        right = [one for one in listed.ranked if one.row in answering]
        stage, words = self._stage(ground, listed, right)
        known = {one.row: one for one in listed.ranked}
        evidence = sorted(answering, key=lambda row: (_place(listed, row), row))[:_SHOWN]
        return Loss(
            ground.question,
            stage,
            words,
            evidence=tuple(self._show(row, known.get(row), handed) for row in evidence),
            returned=tuple(self._show(row, known.get(row), handed) for row in handed),
        )

    def _stage(
        self, ground: Ground, listed: QuestionRanking, right: Sequence[Ranked]
    ) -> tuple[LossStage, str]:
        if not ground.rows(self._windows):
            return "destroyed by chunking", _destroyed(ground)
        depth = self._way.depth
        legs = {
            "dense": min((one.dense_rank for one in right if one.dense_rank), default=None),
            "BM25": min((one.bm25_rank for one in right if one.bm25_rank), default=None),
        }
        told = ", ".join(f"{leg} rank {_rank(rank)}" for leg, rank in legs.items() if self._uses(leg))
        place = min((_place(listed, one.row) for one in right), default=None)
        if place is not None and place <= depth:
            return self._after_fusion(ground, right, listed, place)
        found = {leg: rank is not None and rank <= depth for leg, rank in legs.items() if self._uses(leg)}
        if not found.get("dense", True) and self._truncated(ground):
            return (
                "truncated by the encoder",
                f"the expected sentence ends beyond the window of the model; {told}",
            )
        if any(found.values()):
            return "lost in fusion", f"{told}, fused rank {_rank(place)}, k is {depth}"
        if self._way.mode == "hybrid":
            return "in neither leg", f"{told}, fused rank {_rank(place)}, k is {depth}"
        single: LossStage = "not in dense top k" if self._way.mode == "dense" else "not in BM25 top k"
        return single, f"{told}, k is {depth}"

    def _after_fusion(
        self, ground: Ground, right: Sequence[Ranked], listed: QuestionRanking, place: int
    ) -> tuple[LossStage, str]:
        among = [one for one in right if _place(listed, one.row) <= self._way.depth]
        threshold = self._way.threshold
        if threshold is not None and not under_cut((one.cut_distance for one in among), threshold):
            near = min(one.cosine_distance for one in among if one.cosine_distance is not None)
            return "refused", f"rank {place}, at distance {near:.3f}, over the threshold {threshold:g}"
        folded = {row for one in listed.kept for row in one.folded}
        if all(one.row in folded for one in among):
            return "folded away", f"rank {place}, but a passage before it says nearly the same"
        if self._windows and not ground.right(listed.kept):
            return "lost in windows", f"rank {place}, but windows before it show parts of it"
        return (
            "lost in rerank",
            f"rank {place} before the cross-encoder, behind the first {self._way.k} after it",
        )

    def _uses(self, leg: str) -> bool:
        return self._way.mode == "hybrid" or leg.lower() == self._way.mode

    def _truncated(self, ground: Ground) -> bool:
        rows = sorted(ground.evidence)
        return bool(rows) and all(self._ends_beyond(row, ground.question.needle) for row in rows)

    def _ends_beyond(self, row: int, needle: str) -> bool:
        chunk, window = self._passages.chunks[row], self._passages.window
        at = chunk.text.rfind(needle) if needle else -1
        if at < 0 or chunk.tokens <= window:
            return False
        return self._wordpieces.count(chunk.text[: at + len(needle)]) > window

    def _show(self, row: int, one: Ranked | None, handed: Sequence[int]) -> ShownPassage:
        chunk = self._passages.chunks[row]
        return ShownPassage(
            chunk.chunk_id,
            chunk.document,
            chunk.locator,
            chunk.content,
            rank=handed.index(row) + 1 if row in handed else None,
            dense_rank=one.dense_rank if one else None,
            bm25_rank=one.bm25_rank if one else None,
            cosine_distance=one.cosine_distance if one else None,
        )

    def parts(self, document: str, start: int, end: int) -> tuple[ShownPassage, ...]:
        """The chunks between which a needle at `[start, end)` of its document was cut."""
        return tuple(self._show(row, None, ()) for row in self._passages.parts(document, start, end))


def unextracted(
    faults: Iterable[Fault], questions: Iterable[Question], documents: Iterable[str]
) -> list[Loss]:
    """Losses of the questions that were left out because no stored text has their words."""
    known = set(documents)
    by_id = {question.id: question for question in questions}
    return [
        Loss(by_id[fault.id], "not extracted", fault.reason, evidence=(), returned=())
        for fault in faults
        if was_not_extracted(fault, by_id[fault.id], known)
    ]


def was_not_extracted(fault: Fault, question: Question, documents: set[str]) -> bool:
    """Whether a fault may be a loss of the index: its words or its document are not in what is stored."""
    if fault.code == "no-document":
        return question.document not in documents
    return fault.code == "not-in-text"


def _at(listed: QuestionRanking, rows: Sequence[int]) -> Iterator[tuple[int, float | None]]:
    """These rows with their distances in the list."""
    distance = {one.row: one.cut_distance for one in listed.ranked}
    return ((row, distance.get(row)) for row in rows)


def _place(listed: QuestionRanking, row: int) -> int:
    """1-based, in the list before folding; past its end for a row that it lacks."""
    return next(
        (place for place, one in enumerate(listed.ranked, start=1) if one.row == row), len(listed.ranked) + 1
    )


def _rank(rank: int | None) -> str:
    return f"over {LEG_DEPTH}" if rank is None or rank > LEG_DEPTH else str(rank)


def _destroyed(ground: Ground) -> str:
    if not ground.question.needle:
        return "no chunk stands on a page that answers it"
    if ground.destroyed_in_text:
        return "no chunk holds the expected sentence whole"
    return "no chunk quotes the expected sentence whole; only the embedded text with its overlap does"
