"""A word that stands nowhere is searched as the index spells it; exact forms come first."""

import pytest

from pincite.retrieval.searcher import open_index
from pincite.retrieval.widening import FEW

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


ENDINGS = {
    "en.txt": ["The pumps are repaired by our mechanics in the workshop every second year."],
    "de.txt": ["Die Verbindungen der Leitungen werden von unseren Mechanikern jedes Jahr geprüft."],
    "sv.txt": ["Maskinerna repareras av våra mekaniker i verkstaden en gång om året."],
}


@pytest.mark.parametrize(
    ("query", "path", "form"),
    [
        ("repairing", "en.txt", "repaired"),
        ("workshops", "en.txt", "workshop"),
        ("Verbindung", "de.txt", "verbindungen"),
        ("maskin", "sv.txt", "maskinerna"),
    ],
)
def test_a_word_is_found_by_its_other_forms_in_the_languages_of_the_index(
    small_index, query: str, path: str, form: str
) -> None:
    small_index.write(ENDINGS)
    found, widened = searched(small_index, query)
    assert found[:1] == [path] and form in widened[query.casefold()]


def test_the_exact_form_comes_before_the_others(small_index) -> None:
    small_index.write({"a.txt": ["The pumps are old and dusty."], "b.txt": ["The pump is old and dusty."]})
    assert searched(small_index, "pump") == (["b.txt", "a.txt"], {"pump": ("pumps",)})
    assert searched(small_index, "pumps") == (["a.txt", "b.txt"], {"pumps": ("pump",)})
    assert searched(small_index, '"pump"') == (["b.txt"], {})


def test_a_word_that_stands_often_enough_is_searched_as_it_is(small_index) -> None:
    files = {f"{n}.txt": [f"The pump number {n} is old and dusty."] for n in range(FEW)}
    small_index.write(files | {"z.txt": ["The pumps are old and dusty."]})
    found, widened = searched(small_index, "pump")
    assert (sorted(found), widened) == (sorted(files), {})


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("mecanical", ("mechanical",)), ("saels", ("seals",)), ("mechanicla", ("mechanical",)), ("zebra", ())],
)
def test_a_misspelt_word_is_offered_and_not_replaced(small_index, typed: str, meant: tuple[str, ...]) -> None:
    small_index.write(
        {"a.txt": ["All mechanical seals are worn and leak."], "b.txt": ["The mechanism is old."]}
    )
    with open_index(small_index.path) as searcher:
        results = searcher.search(typed, mode="bm25")
    assert dict(results.offered) == ({typed: meant} if meant else {})
    assert not results.widened
    assert all(typed not in hit.content and hit.bm25_rank for hit in results.hits)


def test_the_first_letters_of_a_longer_word_are_not_offered(small_index) -> None:
    small_index.write({"a.txt": ["mechanical"]})  # whose first five letters the index has too
    with open_index(small_index.path) as searcher:
        assert not searcher.search("mechx", mode="bm25").offered
    small_index.write({"a.txt": ["mechanical"], "b.txt": ["mecha"]})
    with open_index(small_index.path) as searcher:
        assert dict(searcher.search("mechx", mode="bm25").offered) == {"mechx": ("mecha",)}
