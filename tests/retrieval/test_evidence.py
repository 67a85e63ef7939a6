"""A code of the question that stands in a passage is evidence; a distance that means nothing decides nothing."""

import pytest

from pincite.encoders.embedding import Embedder
from pincite.retrieval.searcher import open_index
from tests.retrieval.conftest import SmallIndex

FAR = 1e-9  # a threshold under which no distance lies


def searched(small_index: SmallIndex, minilm: Embedder, query: str, threshold: float = FAR):
    with open_index(small_index.path) as searcher:
        return searcher.search(query, vector=minilm.embed_query(query), threshold=threshold)


@pytest.mark.parametrize("query", ["What does ERR-5120 mean?", "err-5120", "is ERR-5120 bad"])
def test_a_passage_with_the_rare_code_of_the_question_passes_at_any_distance(
    small_index, minilm: Embedder, query: str
) -> None:
    small_index.write({"a.txt": ["ERR-5120 the strainer is blocked"], "b.txt": ["the strainer is blue"]})
    results = searched(small_index, minilm, query)
    assert [hit.document for hit in results.hits] == ["a.txt"] and not results.refused


def test_a_code_that_stands_nowhere_is_named_and_proves_nothing(small_index, minilm: Embedder) -> None:
    small_index.write({"a.txt": ["ERR-5120 the strainer is blocked"]})
    results = searched(small_index, minilm, "What does ERR-9999 mean?")
    assert results.refused and results.absent == ("err-9999",)


def test_a_common_code_is_no_evidence(small_index, minilm: Embedder) -> None:
    small_index.write({f"{n}.txt": [f"pump TP-500 number {n}"] for n in range(12)})
    assert searched(small_index, minilm, "TP-500").refused


def test_a_distance_of_a_document_that_the_model_can_not_read_admits_nothing(
    small_index, minilm: Embedder
) -> None:
    small_index.write({"a.txt": ["насос протікає"], "b.txt": ["клапан закрито"]}, unread=["a.txt", "b.txt"])
    assert searched(small_index, minilm, "хто міняє старий насос взимку", threshold=1.9).refused


def test_words_admit_a_document_that_the_model_can_not_read(small_index, minilm: Embedder) -> None:
    small_index.write({"a.txt": ["насос протікає"], "b.txt": ["клапан закрито"]}, unread=["a.txt", "b.txt"])
    found = searched(small_index, minilm, "насос протікає", threshold=0.1)
    assert [hit.document for hit in found.hits] == ["a.txt"]
