"""`pincite cite`: opening a passage."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.commands import SAMPLES, Pincite


def passage_of(pincite_here: Pincite, samples: Path, words: str, document: str) -> tuple[str, str]:
    """(name, quote) of the best passage of a document for some words."""
    found = pincite_here("search", words, "--mode", "bm25", "-k", 20, "--index", samples, "--json")
    hit = next(hit for hit in json.loads(found.stdout)["hits"] if hit["document"] == document)
    return f"{document}#char={hit['start']},{hit['end']}", hit["content"]


def marked_words(page: str) -> list[int]:
    """How many words are marked on each page image."""
    return [figure.count("<polygon") for figure in re.findall(r"<figure>.*?</figure>", page, re.DOTALL)]


def test_a_passage_is_printed_marked_between_its_neighbours(pincite_here: Pincite, samples: Path) -> None:
    name, quote = passage_of(pincite_here, samples, "dry running", "operator-handbook.md")
    result = pincite_here("cite", name, "--index", samples, "--context", 20)
    text = (SAMPLES / "operator-handbook.md").read_text(encoding="utf-8")
    start = text.index(quote)
    assert result.returncode == 0
    assert (
        f"…{text[start - 20 : start]}⟦{quote}⟧{text[start + len(quote) : start + len(quote) + 20]}…"
        in result.stdout
    )
    assert result.stdout.startswith("operator-handbook.md #char=")


def test_json_tells_the_passage_and_its_place(pincite_here: Pincite, samples: Path) -> None:
    name, quote = passage_of(pincite_here, samples, "cavitation", "service-bulletin-31.pdf")
    printed = json.loads(pincite_here("cite", name, "--index", samples, "--json").stdout)
    assert printed["quote"] == quote and printed["locator"] == "#page=1" and printed["stale"] == ""
    by_id = pincite_here(
        "cite", name.replace("service-bulletin-31.pdf", printed["document_id"]), "--index", samples
    )
    assert by_id.returncode == 0 and by_id.stdout.startswith("service-bulletin-31.pdf")


@pytest.mark.parametrize(
    ("passage", "words"),
    [
        ("operator-handbok.md#char=0,5", "Did you mean operator-handbook.md?"),
        ("nothing.txt#char=0,5", "no document 'nothing.txt'"),
        ("operator-handbook.md#char=0,999999", "beyond its"),
        ("operator-handbook.md#char=9999999,99999999", "beyond its"),
        ("operator-handbook.md#char=7,7", "is empty"),
        ("operator-handbook.md#char=9,7", "is empty"),
        ("operator-handbook.md#char=-1,7", "expected DOCUMENT#char=from,to"),
        ("operator-handbook.md#page=1", "expected DOCUMENT#char=from,to"),
        ("operator-handbook.md", "expected DOCUMENT#char=from,to"),
        ("#char=0,5", "expected DOCUMENT#char=from,to"),
        ("a.md#char=0,99999999999999999999", "expected DOCUMENT#char=from,to"),
        ("forged\nline#char=0,5", "'forged\\\\nline'"),
    ],
)
def test_what_can_not_be_opened_is_a_clear_error(
    pincite_here: Pincite, samples: Path, passage: str, words: str
) -> None:
    result = pincite_here("cite", passage, "--index", samples)
    assert result.returncode == 2 and not result.stdout
    assert words in result.stderr and "Traceback" not in result.stderr


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.marked = ""
        self._in_mark = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self._in_mark = self._in_mark or tag == "mark"

    def handle_endtag(self, tag: str) -> None:
        self._in_mark = self._in_mark and tag != "mark"

    def handle_data(self, data: str) -> None:
        self.marked += data if self._in_mark else ""


HOSTILE_NAME = "<img src=x onerror=alert(1)>\"'&.txt"
HOSTILE = "</div></mark><script>alert(1)</script> \" onload='x' &lt; <iframe src=//evil>\x1b[31m\n"


@pytest.fixture(scope="module")
def own(pincite_here: Pincite, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(a folder with a hostile text and a PDF, its index)."""
    docs = tmp_path_factory.mktemp("own")
    (docs / HOSTILE_NAME).write_text(HOSTILE * 3, encoding="utf-8")
    shutil.copy(SAMPLES / "service-bulletin-31.pdf", docs / "a.pdf")
    index = tmp_path_factory.mktemp("of-own") / "index"
    assert pincite_here("index", docs, "--index", index).returncode == 0
    return docs, index


def test_html_in_documents_names_and_quotes_is_text(
    pincite_here: Pincite, own: tuple[Path, Path], tmp_path: Path
) -> None:
    target = tmp_path / "p.html"
    name = f"{HOSTILE_NAME}#char=6,{len(HOSTILE) * 2}"
    result = pincite_here("cite", name, "--index", own[1], "--html", target)
    assert result.returncode == 0 and "\x1b" not in result.stdout
    page = Tags(target.read_text(encoding="utf-8"))
    assert not {"script", "iframe", "img"} & set(page.tags) and page.tags.count("mark") == 1
    assert not {"onerror", "onload", "src", "href"} & page.attributes
    assert page.marked.startswith("</mark><script>alert(1)</script>") and "<iframe src=//evil>" in page.marked


@pytest.mark.parametrize(
    ("words", "document", "least"),
    [
        ("cavitation pressure impeller", "service-bulletin-31.pdf", 40),
        ("SEAL-MG1-33", "spare-parts-catalogue.pdf", 40),
        ("wear ring rubber star", "inspection-report-scan.pdf", 15),
        ("rubber star gaskets converter", "delivery-note-rotated-scan.pdf", 10),
        ("broken shaft warranty", "service-file-34-0933.pdf", 40),
    ],
)
def test_pdf_and_scans_are_opened_as_page_images_with_the_words_marked(
    pincite_here: Pincite, samples: Path, tmp_path: Path, words: str, document: str, least: int
) -> None:
    target = tmp_path / "p.html"
    name, quote = passage_of(pincite_here, samples, words, document)
    result = pincite_here("cite", name, "--index", samples, "--html", target)
    page = target.read_text(encoding="utf-8")
    assert result.returncode == 0 and not result.stderr
    (marked,) = marked_words(page)
    assert least <= marked <= len(quote.split()) * 1.3 and "data:image/webp;base64," in page


def test_a_file_that_changed_or_is_gone_shows_no_page_and_says_why(
    pincite_here: Pincite, own: tuple[Path, Path], tmp_path: Path
) -> None:
    (docs, index), target = own, tmp_path / "p.html"
    (docs / "a.pdf").write_bytes(b"%PDF-1.4 other")
    changed = pincite_here("cite", "a.pdf#char=0,40", "--index", index, "--html", target)
    assert changed.returncode == 0 and "the file has changed since it was indexed" in changed.stderr
    page = target.read_text(encoding="utf-8")
    assert "the file has changed" in page and "<figure>" not in page and '<mark id="passage">' in page
    (docs / "a.pdf").unlink()
    gone = pincite_here("cite", "a.pdf#char=0,40", "--index", index, "--html", target)
    assert gone.returncode == 0 and "can't be read" in gone.stderr


def test_a_passage_is_written_as_a_web_annotation(
    pincite_here: Pincite, samples: Path, tmp_path: Path
) -> None:
    target = tmp_path / "a.jsonld"
    name, quote = passage_of(pincite_here, samples, "cavitation", "service-bulletin-31.pdf")
    assert pincite_here("cite", name, "--index", samples, "--annotation", target).returncode == 0
    made = json.loads(target.read_text(encoding="utf-8"))
    assert made["@context"] == "http://www.w3.org/ns/anno.jsonld" and made["type"] == "Annotation"
    assert made["target"]["source"] == (SAMPLES / "service-bulletin-31.pdf").as_uri()
    kinds = {one["type"]: one for one in made["target"]["selector"]}
    assert kinds["TextQuoteSelector"]["exact"] == quote
    assert kinds["FragmentSelector"] == {
        "type": "FragmentSelector",
        "conformsTo": "http://tools.ietf.org/rfc/rfc3778",
        "value": "page=1",
    }


def test_a_target_that_can_not_be_written_is_said_before_the_work(
    pincite_here: Pincite, samples: Path, tmp_path: Path
) -> None:
    for option in ("--html", "--annotation"):
        result = pincite_here("cite", "operator-handbook.md#char=0,5", "--index", samples, option, tmp_path)
        assert result.returncode == 2 and "it is a folder" in result.stderr
