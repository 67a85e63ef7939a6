from pincite.schemas.records import Chunk
from pincite.tasks.steps.lexical import term_frequencies


def piece(content, header="", text=""):
    return Chunk(0, text or content, content, header, "", 0, len(content), tokens=3)


def test_terms_are_counted_in_content_and_header():
    (counts,) = term_frequencies([piece("Cats like cats.", header="Animals > Pets")])
    assert counts == {"animals": 1, "anima": 1, "pets": 1, "cats": 2, "like": 1}


def test_a_section_that_its_header_shortens_is_counted_whole():
    chunk = Chunk(0, "", "c", "T > … > b", "a > mid > b", 0, 1, tokens=3)
    assert term_frequencies([chunk]) == ({"t": 1, "b": 2, "a": 1, "mid": 1, "c": 1},)


def test_a_section_without_header_is_not_counted():
    assert term_frequencies([Chunk(0, "c", "c", "", "section", 0, 1, tokens=3)]) == ({"c": 1},)


def test_overlap_is_not_counted():
    (counts,) = term_frequencies([piece("cats", text="dogs \ncats")])
    assert counts == {"cats": 1}


def test_a_chunk_without_words_has_no_terms():
    assert term_frequencies([piece("—"), piece("a")]) == ({}, {"a": 1})
    assert term_frequencies([]) == ()


def test_the_order_is_that_of_the_text():
    (counts,) = term_frequencies([piece("zebra apple zebra")])
    assert list(counts) == ["zebra", "apple"]
