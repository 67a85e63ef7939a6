import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval import bm25
from retrieval.bm25 import TermPostings

WORDS = ["error", "disk", "page", "fault", "cache", "query", "rank", "404", "42", "a", "the", "of"]


def toks(text: str) -> list[str]:
    """The reference tokenizer; on ASCII letters, digits and spaces it is a split."""
    return text.split()


def postings_of(documents: list[str]) -> dict[str, TermPostings]:
    counts = [Counter(toks(document)) for document in documents]
    return {
        term: TermPostings(
            np.array([row for row, one in enumerate(counts) if term in one], dtype=np.int64),
            np.array([one[term] for one in counts if term in one], dtype=np.float64),
        )
        for term in sorted({term for one in counts for term in one})
    }


def scores_of(documents: list[str], query: str) -> np.ndarray:
    lengths = np.array([len(toks(document)) for document in documents], dtype=np.float64)
    return bm25.scores(toks(query), postings_of(documents), lengths)


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
    found = scores_of(documents, "anything")
    assert found.tolist() == [0.0] * len(documents)
    assert bm25.best(found, 10).tolist() == []


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
    assert bm25.best(found, 10).tolist() == [0, 2, 3]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), max_size=30), st.integers(1, 35))
def test_best_is_the_sorted_list_and_a_prefix_of_the_next(values: list[float], k: int) -> None:
    scores = np.array(values, dtype=np.float64)
    ordered = sorted(
        (row for row, score in enumerate(values) if score > 0), key=lambda row: (-values[row], row)
    )
    assert bm25.best(scores, k).tolist() == ordered[:k]
    assert bm25.best(scores, k).tolist() == bm25.best(scores, k + 1).tolist()[:k]
