"""The evidence score: whether the passages that were found answer."""

import hashlib
import json
from dataclasses import replace

import pytest

from pincite.encoders.embedding import Embedder
from pincite.retrieval.answers.ask import ask, why_refused
from pincite.retrieval.evidence_score import WEIGHTS, Measures, ScoredPassage, measures, score_of, shipped
from pincite.retrieval.searcher import open_index
from pincite.schemas.evaluation import QuestionSet
from pincite.schemas.settings import Settings
from pincite.storage.queries.calibrations import store_calibration
from pincite.storage.snapshots.index import Index
from tests.retrieval.conftest import SmallIndex, at_distance

WORDS = {"seal": 3.0, "replaced": 2.0, "the": 0.5}
BOTH = "The seal is worn. It leaks, and the shaft is hot. Then the seal is replaced."


def test_the_measures_are_the_best_of_the_passages() -> None:
    passages = [
        ScoredPassage("The shaft is hot.", 0.9, 0.4),
        ScoredPassage("The seal is worn. A ring is replaced.", 0.6, None),
        ScoredPassage("No word.", 0.3, 0.6),
    ]
    found = measures(WORDS, passages)
    assert found is not None
    assert found.covered == pytest.approx(1.0)  # of the second, though no sentence of it has all
    assert found.sentence == pytest.approx(3.5 / 5.5)
    assert found.cosine == 0.6
    assert found.ahead == pytest.approx(0.9 - 0.45)
    assert measures(WORDS, []) is None and measures({}, passages) is None


def test_more_of_each_measure_is_more_evidence_and_an_unknown_one_is_a_middling_one() -> None:
    low = Measures(0.2, 0.2, 0.4, 0.1)
    for name in ("covered", "sentence", "cosine", "ahead"):
        assert score_of(replace(low, **{name: 0.9})) > score_of(low)
    known = shipped()
    assert score_of(replace(low, cosine=None)) == pytest.approx(score_of(replace(low, cosine=known.means[2])))
    assert 0.0 < score_of(low) < known.cut < score_of(Measures(1.0, 1.0, 0.9, 0.9)) < 1.0


def test_the_weights_are_small_and_say_what_they_were_trained_on() -> None:
    assert WEIGHTS.stat().st_size < 1_024
    assert json.loads(WEIGHTS.read_text(encoding="utf-8"))["trained_on"] == ["xquad.en.json", "xquad.es.json"]


def crowd(small_index: SmallIndex, minilm: Embedder) -> None:
    """Over 100 chunks, all near a question; one has its words, one a code."""
    passages = [f"Word{n} is told of part p{n}." for n in range(120)] + [BOTH, "Write 4711-X on it."]
    near = minilm.embed_query("when is the seal replaced")
    vectors = {
        one: at_distance(near, 0.2 + int(hashlib.sha256(one.encode()).hexdigest()[:2], 16) / 1_000)
        for one in passages
    }
    small_index.write({"a.txt": passages}, vectors)


def test_ask_refuses_what_is_near_and_has_not_the_words_once_it_was_calibrated(
    small_index: SmallIndex, minilm: Embedder
) -> None:
    crowd(small_index, minilm)
    asked = (
        "when is the seal replaced",
        "when was the motor of the crane painted",
        "what about 4711-X paint",
    )
    own = QuestionSet("own", "0" * 64, ())
    with Index.open(small_index.path) as index, index.snapshot() as snapshot:
        store_calibration(index, snapshot.version, 1.9, own, {})
    with open_index(small_index.path) as searcher:
        before = [ask(searcher, one) for one in asked]
    assert [one.refusal for one in before] == ["", "", ""], "no cut is known of this index"
    assert before[0].evidence is not None and before[1].evidence is not None
    cut = (before[0].evidence + before[1].evidence) / 2
    assert before[1].evidence < cut < before[0].evidence
    with Index.open(small_index.path) as index:
        store_calibration(index, snapshot.version, 1.9, own, {"evidence": cut})
    with open_index(small_index.path) as searcher:
        right, wrong, code = (ask(searcher, one) for one in asked)
        assert ask(searcher, asked[1], threshold=1.9).refusal == "", "who names a threshold has chosen"
    assert (right.refusal, wrong.refusal, code.refusal) == ("", "near", "")
    assert wrong.refused and wrong.prompt is None and not wrong.citations
    assert why_refused(wrong) == f'NO ANSWER: passages are near, but none seems to answer "{asked[1]}"'


def test_a_code_that_stands_nowhere_is_the_reason(small_index: SmallIndex, minilm: Embedder) -> None:
    far = at_distance(minilm.embed_query("what is ERR-9999"), 0.9)
    small_index.write({"a.txt": ["The seal leaks."]}, {"The seal leaks.": far})
    with open_index(small_index.path) as searcher:
        asked = ask(searcher, "what is ERR-9999")
        assert (asked.refusal, asked.absent) == ("absent", ("err-9999",))
        assert ask(searcher, "what is a crane", threshold=0.01).refusal == "nothing"


def test_a_small_index_and_chunks_without_windows_have_no_score(
    small_index: SmallIndex, minilm: Embedder
) -> None:
    small_index.write({"a.txt": ["The seal leaks."]})
    with open_index(small_index.path) as searcher:
        assert searcher.search("seal").evidence is None
    crowd(small_index, minilm)
    with open_index(small_index.path, Settings(windows=False)) as searcher:
        assert searcher.search("seal").evidence is None
    with open_index(small_index.path) as searcher:
        assert searcher.search("seal").evidence is not None
        assert searcher.search("seal", mode="bm25").evidence is None
