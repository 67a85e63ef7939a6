import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.retrieval import bm25
from tests.retrieval.plain import postings_of

WORDS = ["error", "disk", "page", "fault", "cache", "query", "rank", "404", "42", "a", "the", "of"]


def toks(text: str) -> list[str]:
    """The reference tokenizer; on ASCII letters, digits and spaces it is a split."""
    return text.split()


def asked(documents: list[str], query: str) -> bm25.BM25Scores:
    lengths = np.array([len(toks(document)) for document in documents], dtype=np.float64)
    postings = postings_of([Counter(toks(document)) for document in documents])
    return bm25.BM25Scores(toks(query), postings, bm25.statistics(lengths))


def scores_of(documents: list[str], query: str) -> np.ndarray:
    return asked(documents, query).of(np.arange(len(documents)))


def founding_scores(documents: list[str], query: str) -> list[float]:
    """The loop of the founding chapter's `BM25` class, from TypeScript (shared/seeds, lines 92 to 125)."""
    tf = [Counter(toks(document)) for document in documents]
    len_ = [len(toks(document)) for document in documents]
    avg = sum(len_) / len(len_)
    df = Counter(word for one in tf for word in one)
    idf = {word: math.log(1 + (len(documents) - n + 0.5) / (n + 0.5)) for word, n in df.items()}
    result = []
    for one, length in zip(tf, len_, strict=True):
        s = 0.0
        for w in toks(query):
            f = one.get(w)
            if not f:
                continue
            s += (idf.get(w, 0) * (f * (1.2 + 1))) / (f + 1.2 * (1 - 0.75 + (0.75 * length) / avg))
        result.append(s)
    return result


def test_a_term_in_two_of_four_documents_has_idf_ln_2() -> None:
    assert bm25.idf(2, 4) == pytest.approx(math.log(2), abs=1e-15)


def test_a_term_in_every_document_still_counts() -> None:
    assert bm25.idf(4, 4) > 0


def test_one_share_by_hand() -> None:
    # f = 2, |d| = 10 = avgdl: 2 * 2.2 / (2 + 1.2) = 1.375
    assert bm25.bm25(2.0, 10.0, 10.0, 1.0) == pytest.approx(1.375, abs=1e-15)
    # twice the average length: 2 * 2.2 / (2 + 1.2 * (.25 + 1.5)) = 4.4 / 4.1
    assert bm25.bm25(2.0, 20.0, 10.0, 1.0) == pytest.approx(4.4 / 4.1, abs=1e-15)


def test_other_constants_are_used() -> None:
    assert bm25.bm25(3.0, 50.0, 10.0, 1.0, k1=2.0, b=0.0) == pytest.approx(3 * 3 / (3 + 2), abs=1e-15)


def test_four_short_documents_by_hand() -> None:
    # "b" is in 2 of 4 documents of equal length: ln 2 * 2.2 / 2.2, once and twice asked.
    documents = ["a b", "b c", "d e", "f g"]
    assert scores_of(documents, "b").tolist() == pytest.approx([math.log(2), math.log(2), 0, 0], abs=1e-12)
    assert scores_of(documents, "b b")[0] == pytest.approx(2 * math.log(2), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_scores_equal_the_founding_class(seed: int) -> None:
    draw = random.Random(seed)
    documents = [
        " ".join(draw.choices(WORDS, k=draw.choice([0, 1, 3, 40]))) for _ in range(draw.randint(1, 60))
    ]
    documents.append("error")  # the founding class divides by the mean length
    query = " ".join(draw.choices([*WORDS, "unknown"], k=draw.randint(1, 8)))
    assert scores_of(documents, query) == pytest.approx(founding_scores(documents, query), abs=1e-9)


@pytest.mark.parametrize("documents", [[], [""], ["", "", ""]])
def test_nothing_or_empty_chunks_score_zero_without_a_division(documents: list[str]) -> None:
    assert scores_of(documents, "anything").tolist() == [0.0] * len(documents)
    assert asked(documents, "anything").best(10)[0].tolist() == []


def test_an_average_length_of_zero_divides_nothing() -> None:
    assert bm25.bm25(0.0, 0.0, 0.0, 1.0) == 0.0


def test_empty_chunks_count_in_the_corpus() -> None:
    alone, among = scores_of(["error disk"], "error"), scores_of(["error disk", "", ""], "error")
    assert among[0] > alone[0] > 0  # the term is rarer in three chunks than in one
    assert among == pytest.approx(founding_scores(["error disk", "", ""], "error"), abs=1e-12)


def test_equal_chunks_tie_exactly_and_go_by_row() -> None:
    documents = ["fault page disk cache", "x y z w", "disk cache page fault", "cache fault disk page"]
    found = scores_of(documents, "cache disk page fault rank")
    assert found[0] == found[2] == found[3]
    assert asked(documents, "cache disk page fault rank").best(10)[0].tolist() == [0, 2, 3]


CORPORA = st.lists(st.lists(st.sampled_from(WORDS[:8]), max_size=12).map(" ".join), max_size=40)


@given(CORPORA, st.lists(st.sampled_from(WORDS[:9]), min_size=1, max_size=8), st.integers(1, 45), st.data())
def test_best_is_the_sorted_list_and_a_prefix_of_the_next(
    documents: list[str], query: list[str], k: int, data: st.DataObject
) -> None:
    # Also what shows that no row is left out too early: the sorted list scores every row.
    count = len(documents)
    among = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=bool)
    lengths = np.array([len(toks(one)) for one in documents], dtype=np.float64)
    postings = postings_of([Counter(toks(one)) for one in documents])
    for mask in (None, among):
        found = bm25.BM25Scores(query, postings, bm25.statistics(lengths), among=mask)
        values = found.of(np.arange(count))
        assert mask is None or not values[~mask].any()
        ordered = sorted((row for row in range(count) if values[row] > 0), key=lambda r: (-values[r], r))
        rows, scores = found.best(k)
        assert rows.tolist() == ordered[:k]
        assert scores.tolist() == values[rows].tolist()
        assert rows.tolist() == found.best(k + 1)[0].tolist()[:k]


def test_a_frequent_word_is_not_counted_where_it_can_change_nothing() -> None:
    documents = ["the"] * 3_000 + ["the rare"] * 30
    found = asked(documents, "the rare")
    assert found.best(10)[0].tolist() == list(range(3_000, 3_010))
    assert len(found._candidates(10)) == 30


@given(
    documents=st.lists(st.lists(st.sampled_from(WORDS)), min_size=1), query=st.lists(st.sampled_from(WORDS))
)
def test_the_shares_of_the_terms_are_the_score(documents: list[list[str]], query: list[str]) -> None:
    texts = [" ".join(one) for one in documents]
    scores, rows = asked(texts, " ".join(query)), np.arange(len(texts))
    for words, score, shares in zip(documents, scores.of(rows), scores.shares(rows), strict=True):
        assert sum(one.share for one in shares) == pytest.approx(score, abs=1e-12)
        held = [term for term in dict.fromkeys(query) if term in words]
        assert [one.term for one in shares] == held
        for one in shares:
            assert one.share > 0 and one.tf == words.count(one.term) and one.repeats == query.count(one.term)
            assert one.chunks == sum(one.term in other for other in documents)
