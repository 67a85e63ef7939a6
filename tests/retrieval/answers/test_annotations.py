"""Web Annotations: what a tool needs to find the passage again."""

import json

import pytest

from pincite.retrieval.answers.annotations import annotation, annotation_page
from pincite.storage.documents.texts import StoredText
from pincite.storage.snapshots.snapshot import LiveDocument

TEXT = "Насос 🛠 працює.\n\n<b>Він</b> зупиняється. " + "x" * 100


def stored(path: str = "docs/a b#1.pdf") -> StoredText:
    document = LiveDocument(
        document_id="d",
        revision=1,
        path=path,
        title="t",
        media_type="application/pdf",
        chunks=1,
        postings=1,
        over_window=0,
        characters=len(TEXT),
        pages=1,
        ocr_pages=0,
        ocr_confidence=None,
        tables=0,
        warnings=(),
        extractor="pdf",
        extractor_version="1",
        recipe="r",
        source_sha256="f" * 64,
        language="",
        encoder_fit=True,
        source="/srv/дані",
        stale_reason="",
    )
    return StoredText(document, TEXT, (), ())


def selectors(made: dict[str, object]) -> dict[str, dict[str, object]]:
    target = made["target"]
    assert isinstance(target, dict)
    return {one["type"]: one for one in target["selector"]}


def test_position_and_quote_name_the_same_words() -> None:
    made = annotation(stored(), 6, 15, "#page=3")
    found = selectors(made)
    start, end = found["TextPositionSelector"]["start"], found["TextPositionSelector"]["end"]
    assert (start, end) == (6, 15) and found["TextQuoteSelector"]["exact"] == TEXT[6:15] == "🛠 працює."[:9]
    assert found["TextQuoteSelector"]["prefix"] == TEXT[:6]
    assert found["TextQuoteSelector"]["suffix"] == TEXT[15:47]
    assert made["@context"] == "http://www.w3.org/ns/anno.jsonld" and made["type"] == "Annotation"
    json.dumps(made)


def test_the_source_is_an_iri_whatever_the_name() -> None:
    target = annotation(stored(), 0, 5, "#page=3")["target"]
    assert isinstance(target, dict)
    assert target["source"] == "file:///srv/%D0%B4%D0%B0%D0%BD%D1%96/docs/a%20b%231.pdf"


@pytest.mark.parametrize(
    ("locator", "standard"),
    [("#page=3", "http://tools.ietf.org/rfc/rfc3778"), ("#t=1.5,9", "http://www.w3.org/TR/media-frags/")],
)
def test_pages_and_times_name_their_standard(locator: str, standard: str) -> None:
    fragment = selectors(annotation(stored(), 0, 5, locator))["FragmentSelector"]
    assert (fragment["conformsTo"], fragment["value"]) == (standard, locator[1:])


@pytest.mark.parametrize("locator", ["#char=0,5", "#slide=2", "#sheet=A&range=A1", "#entry=/a"])
def test_places_without_a_standard_are_no_fragment(locator: str) -> None:
    assert set(selectors(annotation(stored(), 0, 5, locator))) == {
        "TextPositionSelector",
        "TextQuoteSelector",
    }


def test_ids_are_stable_and_differ_by_place() -> None:
    first, again, other = (annotation(stored(), start, 5, "#page=3")["id"] for start in (0, 0, 1))
    assert first == again != other


def test_a_page_holds_the_annotations_in_their_order() -> None:
    made = [annotation(stored(), start, 5, "#page=3") for start in (2, 0)]
    page = annotation_page(made)
    assert page["type"] == "AnnotationPage" and page["@context"] == made[0]["@context"]
    items = page["items"]
    assert isinstance(items, list)
    assert [one["id"] for one in items] == [one["id"] for one in made] and "@context" not in items[0]
    assert annotation_page([])["items"] == []
