"""A word that stands nowhere is searched as the index spells it; exact forms come first."""

import pytest

from pincite.retrieval.searcher import open_index

NAMES = {
    "a.txt": ["Antonín Dvořák"],
    "b.txt": ["Carlos Núñez"],
    "c.txt": ["Herr Müller"],
    "d.txt": ["Königstraße 5"],
}


def searched(small_index, query: str):
    with open_index(small_index.path) as searcher:
        results = searcher.search(query, mode="bm25")
    return [hit.document for hit in results.hits], dict(results.widened)


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("Dvorak", "a.txt"),
        ("Nunez", "b.txt"),
        ("Mueller", "c.txt"),
        ("Muller", "c.txt"),
        ("Koenigstrasse", "d.txt"),
        ("Nuñez", "b.txt"),
    ],
)
def test_a_word_without_its_accents_is_found_and_it_is_told(small_index, query: str, path: str) -> None:
    small_index.write(NAMES)
    found, widened = searched(small_index, query)
    assert found == [path] and list(widened) == [query.casefold()]


def test_where_the_word_stands_as_it_was_typed_nothing_else_is_searched(small_index) -> None:
    small_index.write(NAMES | {"e.txt": ["Mr Nunez"]})
    assert searched(small_index, "Nunez") == (["e.txt"], {})


def test_words_that_differ_in_their_signs_stay_apart(small_index) -> None:
    small_index.write({"ma.txt": ["ma"], "má.txt": ["má"], "mả.txt": ["mả"]})
    assert searched(small_index, "má") == (["má.txt"], {})


def test_a_query_in_quotes_is_not_widened(small_index) -> None:
    small_index.write(NAMES)
    assert searched(small_index, '"Nunez"') == ([], {})
