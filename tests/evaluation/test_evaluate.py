"""Whole evaluations of small real indexes: what is found, what is lost where, and what is left out."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from pincite.encoders.embedding import Embedder
from pincite.evaluation.evaluate import AS_IT_IS, Plan
from pincite.evaluation.evaluated_index import open_subject
from pincite.evaluation.rebuild import rebuilt
from pincite.retrieval.searcher import open_index
from pincite.schemas.errors import SpaceMismatch, UsageError
from pincite.schemas.evaluation import Evaluation, Loss, Question, QuestionSet
from pincite.schemas.settings import DEFAULT_MODEL, Settings
from pincite.storage.ledger import transactions
from pincite.storage.locks.reader_leases import living
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot
from tests.evaluation.opened import evaluate
from tests.retrieval.conftest import APART, NEXT, SmallIndex, at_distance

THRESHOLD = Plan(threshold=0.675)
WHY = "why does the pump stop"
FILLER = {
    "filler.md": tuple(f"The pump stops and stops again, entry {number} of the list." for number in range(12))
}


def asked(*questions: Question) -> QuestionSet:
    return QuestionSet("set", "0" * 64, questions)


def near(minilm: Embedder, question: str, distances: Mapping[str, float]) -> dict[str, np.ndarray]:
    """Vectors of passages at these cosine distances from a question."""
    query = minilm.embed_query(question)
    return {passage: at_distance(query, distance) for passage, distance in distances.items()}


def test_what_is_evaluated_is_held_against_a_vacuum(
    small_index: SmallIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_index.write({"a.txt": ["the pump stops"]})
    held: list[int] = []

    def look(snapshot: Snapshot, *_arguments: object) -> None:
        with Index.open(small_index.path) as index, transactions.reading(index.engine) as connection:
            held.extend(reader.version - snapshot.version for reader in living(connection))

    monkeypatch.setattr("pincite.evaluation.evaluate.evaluate_snapshot", look)
    evaluate(small_index.path, Settings(), asked(), THRESHOLD)
    assert held == [0]


def only_loss(evaluation: Evaluation) -> Loss:
    (loss,) = evaluation.losses
    return loss


def test_recall_counts_the_first_passage_that_holds_the_needle(
    small_index: SmallIndex, minilm: Embedder
) -> None:
    passages = [f"Word{number} of a passage." for number in range(6)]
    vectors = near(minilm, WHY, {one: 0.1 + 0.05 * place for place, one in enumerate(passages)})
    small_index.write({"a.md": passages}, vectors)
    questions = asked(Question("q", WHY, passages[2], "a.md"), Question("r", WHY, passages[5]))
    scores = {one.strategy.name: one for one in evaluate(small_index.path, Settings(), questions).strategies}
    dense = scores["structural/dense"]
    assert [outcome.rank for outcome in dense.outcomes] == [3, 6]
    assert {k: cut.count for k, cut in dense.recall.items()} == {1: 0, 4: 1, 8: 2, 20: 2}
    assert dense.mrr.value == pytest.approx((1 / 3 + 1 / 6) / 2)
    assert scores["structural/bm25"].recall[20].count == 0  # no word of the question


def test_pages_chunks_and_documents_are_judged_too(small_index: SmallIndex, minilm: Embedder) -> None:
    small_index.write(
        {"a.md": ["First of a.", "Second of a."], "b.md": ["Only of b."]},
        near(minilm, WHY, {"First of a.": 0.3, "Second of a.": 0.2, "Only of b.": 0.1}),
    )
    with Index.open(small_index.path) as index, index.snapshot() as snapshot:
        ids = {
            row["content"]: row["chunk_id"] for row in snapshot.chunks(["chunk_id", "content"]).to_pylist()
        }
    questions = asked(
        Question("page", WHY, document="a.md", pages=(7,)),
        Question("chunk", WHY, chunk_ids=(ids["First of a."],)),
        Question("document", WHY, documents=("b.md",)),
        Question("no page", WHY, document="a.md", pages=(8,)),
    )
    evaluation = evaluate(small_index.path, Settings(), questions)
    ranks = {outcome.id: outcome.rank for outcome in evaluation.strategies[0].outcomes}
    assert ranks == {"page": 2, "chunk": 3, "document": 1}
    assert [(fault.id, fault.code) for fault in evaluation.faults] == [("no page", "no-page")]
    assert evaluation.strategies[0].destroyed.of == 0  # none of them has a needle


def test_phrasings_of_one_needle_are_two_questions_and_one_needle(small_index: SmallIndex) -> None:
    small_index.write({"a.md": ["Part one,", "part two."]})
    cut = f"Part one,{APART}part two."
    questions = asked(Question("p", WHY, cut, "a.md"), Question("q", "where is it", cut, "a.md"))
    evaluation = evaluate(small_index.path, Settings(), questions)
    assert (evaluation.tally.answerable, evaluation.tally.needles) == (2, 1)
    assert (evaluation.strategies[0].destroyed.count, evaluation.strategies[0].destroyed.of) == (1, 1)


def test_what_chunking_destroyed_is_lost_there_and_its_parts_are_shown(small_index: SmallIndex) -> None:
    small_index.write({"a.md": ["The pump stops", "because of mud."]})
    loss = only_loss(
        evaluate(
            small_index.path, Settings(), asked(Question("q", WHY, f"The pump stops{APART}because of mud."))
        )
    )
    assert loss.stage == "destroyed by chunking"
    assert [shown.content for shown in loss.evidence] == ["The pump stops", "because of mud."]
    assert len(loss.returned) <= 4


def test_what_chunking_cut_is_whole_in_a_window_unless_windows_are_off(small_index: SmallIndex) -> None:
    small_index.write({"a.md": ["The pump stops", "because of mud."], **FILLER}, apart=False)
    questions = asked(Question("q", WHY, f"The pump stops{NEXT}because of mud.", "a.md"))
    grown = {one.strategy.name: one for one in evaluate(small_index.path, Settings(), questions).strategies}
    assert (grown["structural"].destroyed.count, grown["structural"].recall[20].count) == (0, 1)
    assert (grown["structural/bm25"].destroyed.count, grown["structural/bm25"].recall[20].count) == (1, 0)
    plain = evaluate(small_index.path, Settings(windows=False), questions)
    assert [loss.stage for loss in plain.losses] == ["destroyed by chunking"]


def test_words_that_no_stored_text_has_are_lost_in_extraction_and_out_of_the_figures(
    small_index: SmallIndex,
) -> None:
    small_index.write({"a.md": ["The pump stops."]})
    questions = asked(Question("q", WHY, "Never read."), Question("r", WHY, "The pump stops.", "a.md"))
    evaluation = evaluate(small_index.path, Settings(), questions)
    assert [loss.stage for loss in evaluation.losses if loss.question.id == "q"] == ["not extracted"]
    assert [outcome.id for outcome in evaluation.strategies[0].outcomes] == ["r"]
    assert evaluation.tally.left_out == 1


def planted(small_index: SmallIndex, minilm: Embedder, needle: str, distance: float) -> QuestionSet:
    """`needle` at a distance among twelve passages that have the words of the question and lie at .3 to .41."""
    distances = {one: 0.3 + 0.01 * place for place, one in enumerate(FILLER["filler.md"])}
    small_index.write({**FILLER, "a.md": [needle]}, near(minilm, WHY, {**distances, needle: distance}))
    return asked(Question("q", WHY, needle, "a.md"))


def stage_of(index: Path, questions: QuestionSet, plan: Plan = THRESHOLD) -> str:
    return only_loss(evaluate(index, Settings(), questions, plan)).stage


def test_a_passage_that_neither_leg_brings_is_no_fault_of_the_fusion(
    small_index: SmallIndex, minilm: Embedder
) -> None:
    questions = planted(small_index, minilm, "Mud thickens.", 0.6)
    assert stage_of(small_index.path, questions) == "in neither leg"
    assert stage_of(small_index.path, questions, replace(THRESHOLD, mode="dense")) == "not in dense top k"
    assert stage_of(small_index.path, questions, replace(AS_IT_IS, mode="bm25")) == "not in BM25 top k"


def test_what_one_leg_had_and_the_fused_list_has_not_is_lost_in_fusion(
    small_index: SmallIndex, minilm: Embedder
) -> None:
    questions = planted(small_index, minilm, "Mud thickens.", 0.305)
    loss = only_loss(evaluate(small_index.path, Settings(), questions, THRESHOLD))
    assert loss.stage == "lost in fusion"
    assert "dense rank 2" in loss.words and "BM25 rank over 200" in loss.words
    assert [shown.dense_rank for shown in loss.evidence] == [2]


def test_what_lies_over_the_threshold_is_lost_by_refusal(small_index: SmallIndex, minilm: Embedder) -> None:
    small_index.write({"a.md": ["The pump does stop."]}, near(minilm, WHY, {"The pump does stop.": 0.8}))
    questions = asked(Question("q", WHY, "The pump does stop."))
    evaluation = evaluate(small_index.path, Settings(), questions, THRESHOLD)
    assert only_loss(evaluation).stage == "refused"
    assert evaluation.refused == ("q",) and evaluation.strategies[0].recall[1].count == 1
    assert evaluate(small_index.path, Settings(), questions, replace(THRESHOLD, threshold=0.9)).losses == ()


def test_a_near_duplicate_that_lacks_the_needle_can_stand_before_it(
    small_index: SmallIndex, minilm: Embedder
) -> None:
    words = "The pump stops when the strainer of the suction line is full of mud and nobody cleans it in time"
    first, second = f"{words}, says Anna.", f"{words}, says Berta."
    small_index.write({"a.md": [first, second]}, near(minilm, WHY, {first: 0.2, second: 0.21}))
    assert stage_of(small_index.path, asked(Question("q", WHY, second))) == "folded away"


def test_a_needle_behind_the_window_is_lost_in_the_encoder(small_index: SmallIndex) -> None:
    endless = " ".join(f"and the valve number {number} of the line was painted grey" for number in range(60))
    needle = "it is mud that makes it halt"
    long = f"{endless} {needle}."
    others = {f"{number}.md": [one] for number, one in enumerate(FILLER["filler.md"])}
    small_index.write({"long.md": [long], **others})
    with (
        Index.open(small_index.path) as index,
        index.snapshot() as snapshot,
        rebuilt(snapshot, Settings(chunker="E")) as path,
    ):
        evaluation = evaluate(path, Settings(), asked(Question("q", WHY, needle)), THRESHOLD)
    assert only_loss(evaluation).stage == "truncated by the encoder"
    assert evaluation.strategies[0].cost.over_window == 1
    assert evaluation.strategies[0].cost.cut_tokens > 100


def test_what_the_cross_encoder_puts_back_is_lost_in_reranking(
    small_index: SmallIndex, minilm: Embedder, cross_encoder: Path
) -> None:
    echo = "when the pump stops read this"
    causes = [f"we found a worn bearing inside, case {number}" for number in range(6)]
    vectors = near(minilm, WHY, {echo: 0.1, **{one: 0.3 + 0.01 * n for n, one in enumerate(causes)}})
    small_index.write({"echo.md": [echo], **{f"{n}.md": [one] for n, one in enumerate(causes)}}, vectors)
    settings = Settings(reranker=str(cross_encoder))
    questions = asked(Question("q", WHY, echo))
    evaluation = evaluate(small_index.path, settings, questions, replace(THRESHOLD, rerank=True))
    loss = only_loss(evaluation)
    assert loss.stage == "lost in rerank"
    assert evaluation.main == "structural/hybrid+rerank" == evaluation.strategies[0].strategy.name
    with open_index(small_index.path, settings) as searcher:
        hits = searcher.search(WHY, k=20, rerank=True).hits
    assert evaluation.strategies[0].outcomes[0].rank == next(hit.rank for hit in hits if hit.content == echo)


def test_a_reranker_that_is_not_here_is_named_in_a_note(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.write({"a.md": ["The pump stops."]})
    questions = asked(Question("q", WHY, "The pump stops."))
    settings = Settings(reranker=str(tmp_path))
    notes = evaluate(small_index.path, settings, questions, replace(AS_IT_IS, try_rerank=True)).notes
    assert any("reranking was not measured" in note for note in notes)


def test_bluffs_are_named_and_counted_by_kind(small_index: SmallIndex, minilm: Embedder) -> None:
    small_index.write(
        {"a.md": ["The pump stops.", "Taxes are paid."]},
        near(minilm, WHY, {"The pump stops.": 0.2})
        | near(minilm, "who won the cup", {"Taxes are paid.": 0.5}),
    )
    questions = asked(
        Question("q", WHY, "The pump stops."),
        Question("cup", "who won the cup", kind="off-topic"),
        Question("tax", "what colour is the sky at night over the desert", kind="far"),
    )
    evaluation = evaluate(small_index.path, Settings(), questions, replace(AS_IT_IS, threshold=0.51))
    (point,) = [one for one in evaluation.refusal if one.threshold == 0.51]
    assert evaluation.bluffed == ("cup",)
    assert [(one.kind, one.answered, one.of) for one in point.bluffs] == [("far", 0, 1), ("off-topic", 1, 1)]
    assert (point.right, point.wrong, point.refused) == (1, 0, 0)
    assert point.removed.answered == 0  # what is left lies far from the question


def test_rankings_are_those_of_a_search(small_index: SmallIndex, minilm: Embedder) -> None:
    """Over several documents, near-duplicates, unreadable documents, and rows that are live no more."""
    topics = ["pump", "valve", "motor", "seal", "strainer"]
    documents = {
        f"{topic}.md": [f"The {topic} number {number} stops in the night shift." for number in range(14)]
        + [f"Case {number}: a {topic}, mud, and nobody who cleans it." for number in range(14)]
        for topic in topics
    }
    small_index.write({**documents, "gone.md": ["The pump was here."]})
    small_index.write({**documents, "pump.md": documents["pump.md"][::2]}, unread=["seal.md"])
    queries = [WHY, "mud in the seal", "night shift", "strainer number 7", "nothing of this"]
    with (
        open_index(small_index.path) as searcher,
        Index.open(small_index.path) as index,
        index.snapshot() as snapshot,
    ):
        subject = open_subject(snapshot, Settings())
        vectors = searcher.embed_queries(queries)
        for query, vector in zip(queries, vectors, strict=True):
            lists = subject.ranker.rank(query, vector)
            for mode, listed in lists.items():
                found = [subject.passages.chunks[row].chunk_id for row in listed.rows]
                hits = searcher.search(query, mode, k=20, vector=vector).hits
                assert found == [hit.chunk_id for hit in hits], (query, mode)


def test_two_evaluations_are_equal(small_index: SmallIndex) -> None:
    small_index.write({"a.md": ["The pump stops.", "Mud."], **FILLER})
    questions = asked(Question("q", WHY, "The pump stops."), Question("no", "who won"))
    first, second = (evaluate(small_index.path, Settings(), questions) for _ in range(2))
    assert first == second and asdict(first) == asdict(second)


def test_a_set_of_which_nothing_can_be_judged_is_refused_with_the_reasons(small_index: SmallIndex) -> None:
    small_index.write({"a.md": ["The pump stops."]})
    with pytest.raises(UsageError, match="q: the expected sentence"):
        evaluate(small_index.path, Settings(), asked(Question("q", WHY, "Never read.")))


def test_another_model_than_that_of_the_index_is_refused_with_both_names(
    small_index: SmallIndex, tmp_path: Path
) -> None:
    other = SmallIndex(
        tmp_path / "other", replace(small_index.space, model="other-model", fingerprint="f" * 64)
    )
    other.write({"a.md": ["The pump stops."]})
    with pytest.raises(SpaceMismatch, match=r"other-model.*all-MiniLM-L6-v2"):
        evaluate(other.path, Settings(model=DEFAULT_MODEL), asked(Question("q", WHY, "The pump stops.")))


def test_an_empty_index_answers_nothing(small_index: SmallIndex) -> None:
    small_index.write({})
    evaluation = evaluate(small_index.path, Settings(), asked(Question("no", "who won the cup")))
    assert evaluation.bluffed == () and evaluation.strategies[0].recall[1].value is None
    assert evaluation.strategies[0].cost.header_share is None
