"""Citation records, their labels, and the comparison with the stored text."""

import pytest

from pincite.retrieval.answers.citations import cite, difference, label_of, place_words
from pincite.schemas.records import Hit

TEXT = "The pump 🛠 runs.\r\nIt stops. It stops."


def hit(content: str, start: int, end: int, **more: object) -> Hit:
    given: dict[str, object] = {
        "rank": 1,
        "chunk_id": "d-000001-000000",
        "document": "a.pdf",
        "title": "Guide",
        "section": "Guide > Seals",
        "locator": "#page=12",
        "score": 0.1,
        "cosine_distance": 0.4,
        **more,
    }
    return Hit(content=content, start=start, end=end, **given)  # type: ignore[arg-type]


def test_a_quote_that_is_the_slice_is_verified() -> None:
    citation, problem = cite(3, hit("🛠 runs.\r\nIt", 9, 20), TEXT)
    assert TEXT[9:20] == "🛠 runs.\r\nIt" and citation.verified and not problem
    assert (citation.index, citation.document, citation.label) == (3, "a.pdf", "page 12, Seals")
    assert (citation.locator, citation.start, citation.end, citation.cosine_distance) == (
        "#page=12",
        9,
        20,
        0.4,
    )


@pytest.mark.parametrize(
    ("quote", "start", "end", "words"),
    [
        ("It never stops.", 18, 27, "not in the document"),
        ("It stops", 18, 27, "stand at #char=18,26"),
        ("The pump", 1, 9, "stand at #char=0,8"),
        ("it stops.", 18, 27, "not in the document"),
        ("🛠 runs.\nIt", 9, 20, "not in the document"),
        ("It stops.", 29, 400, "no range"),
        ("It stops.", -9, 38, "no range"),
        ("", 5, 5, "no range"),
        ("pump", 8, 4, "no range"),
    ],
)
def test_a_quote_that_is_not_the_slice_is_never_verified(
    quote: str, start: int, end: int, words: str
) -> None:
    citation, problem = cite(1, hit(quote, start, end), TEXT)
    assert not citation.verified and words in problem


def test_a_document_without_stored_text_proves_nothing() -> None:
    assert "no text" in difference("x", 0, 1, None)


@pytest.mark.parametrize(
    ("locator", "words"),
    [
        ("#page=12", "page 12"),
        ("#slide=3", "slide 3"),
        ("#t=132.4,3758.9", "0:02:12–1:02:38"),
        ("#sheet=Prices%202023&range=A2:D9", "Prices 2023 A2:D9"),
        ("#entry=/items/0", "/items/0"),
        ("#char=0,9", ""),
    ],
)
def test_places_are_told_in_words(locator: str, words: str) -> None:
    assert place_words(locator) == words


def test_a_label_is_never_empty() -> None:
    assert label_of(hit("x", 0, 1, locator="#char=0,1", section="")) == "Guide"
    assert label_of(hit("x", 0, 1, locator="#char=0,1", section="Guide")) == "Guide"
    assert label_of(hit("x", 0, 1, locator="#char=0,1", section="", title="")) == "text"
    assert label_of(hit("x", 0, 1, locator="#char=0,1", section="Guides > A")) == "Guides > A"
