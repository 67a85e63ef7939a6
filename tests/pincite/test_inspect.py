"""`pincite inspect` as its users run it."""

import json
import os
from pathlib import Path

import pytest

from pincite.commands.inspect import inspect
from pincite.schemas.errors import UsageError
from tests.commands import SAMPLES, Pincite


def test_the_page_stands_in_the_working_directory_and_the_figures_on_the_screen(
    pincite_here: Pincite, tmp_path: Path
) -> None:
    result = pincite_here("inspect", SAMPLES / "spare-parts-catalogue.pdf", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "3 pages, 3,797 characters, 3 tables, 10 chunks" in result.stdout
    assert "warning running-lines" in result.stdout
    page = tmp_path / "spare-parts-catalogue.pdf.inspect.html"
    assert result.stdout.endswith(f"page {page.name}\n")
    assert [path.name for path in tmp_path.iterdir()] == [page.name]
    content = page.read_text(encoding="utf-8")
    assert content.startswith("<!doctype html>") and content.rstrip().endswith("</html>")
    assert content.count("data:image/webp;base64,") == 3 and "<script" not in content


def test_json_holds_text_blocks_areas_and_chunks_that_agree_with_chunk(
    pincite_here: Pincite, tmp_path: Path
) -> None:
    document = SAMPLES / "service-bulletin-31.pdf"
    result = pincite_here("inspect", document, "--json", cwd=tmp_path)
    assert result.returncode == 0 and not list(tmp_path.iterdir())
    printed = json.loads(result.stdout)
    chunks = json.loads(pincite_here("chunk", document, "--json").stdout)
    names = ("text", "content", "section", "start", "end", "locator", "tokens", "over_window")
    assert [{name: one[name] for name in names} for one in printed["chunks"]] == chunks
    assert all(printed["text"][one["start"] : one["end"]] == one["content"] for one in printed["chunks"])
    (page,) = printed["pages"]
    assert (page["number"], page["width"], page["ocr"]) == (1, pytest.approx(595.3, abs=0.1), False)
    assert {area["block"] for area in page["blocks"]} == set(range(len(printed["blocks"])))
    assert "image" not in page and all(len(area["corners"]) == 4 for area in page["blocks"])
    assert printed["failure"] is None and printed["summary"]["characters"] == len(printed["text"])


def test_pages_are_chosen_and_the_page_goes_where_out_says(pincite_here: Pincite, tmp_path: Path) -> None:
    out = tmp_path / "two pages.html"
    result = pincite_here(
        "inspect", SAMPLES / "spare-parts-catalogue.pdf", "--pages", "2-", "--out", out, cwd=tmp_path
    )
    assert result.returncode == 0 and "1 of 3 pages not shown; --pages 1-1 shows others" in result.stdout
    content = out.read_text(encoding="utf-8")
    assert content.count("data:image/webp") == 2 and 'id="p1"' not in content and 'id="p3"' in content


def test_a_failed_document_ends_with_1_and_a_page_with_its_reason(
    pincite_here: Pincite, tmp_path: Path
) -> None:
    result = pincite_here("inspect", SAMPLES / "purchase-contract-encrypted.pdf", cwd=tmp_path)
    assert result.returncode == 1 and "encrypted in extract: the PDF is encrypted" in result.stderr
    content = (tmp_path / "purchase-contract-encrypted.pdf.inspect.html").read_text(encoding="utf-8")
    assert "Failed in extract: encrypted." in content and "data:image" not in content


@pytest.mark.parametrize(("fault", "kind"), [("segfault", "crashed"), ("hang", "deadline")])
def test_a_parser_that_dies_or_hangs_is_a_failed_document(
    pincite_here: Pincite, tmp_path: Path, fault: str, kind: str
) -> None:
    (tmp_path / "pincite.toml").write_text(
        '[limits]\ndeadline_s = 4\n[extractors]\n".odd" = "tests.doubles.faults:extract_by_first_word"\n'
    )
    (tmp_path / "file.odd").write_text(fault)
    result = pincite_here("inspect", "file.odd", "--json", cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    failure = json.loads(result.stdout)["failure"]
    assert (failure["stage"], failure["kind"], failure["page"]) == ("extract", kind, 3)


@pytest.mark.parametrize(
    ("file", "pages", "out", "told"),
    [
        ("gone.pdf", "1-30", None, "no such file: gone.pdf"),
        ("a.txt", "0-3", None, "pages are counted from 1"),
        ("a.txt", "9-3", None, "the last is not before the first"),
        ("a.txt", "all", None, "expected a page or a range"),
        ("a.txt", "1-30", "a.txt", "is the document itself"),
        ("a.txt", "1-30", "gone/a.html", "its folder does not exist"),
        ("a.txt", "1-30", ".", "a folder"),
    ],
)
def test_wrong_use_is_told_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, pages: str, out: str | None, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("The document.")
    with pytest.raises(UsageError, match=told):
        inspect(Path(file), Path(out) if out else None, pages)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert Path("a.txt").read_text() == "The document."


def test_a_name_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    document = tmp_path / os.fsdecode(b"bad\xff.txt")
    document.write_text("Some text.")
    with pytest.raises(UsageError, match="its name is not UTF-8: rename it"):
        inspect(document)


def test_wrong_use_ends_with_2(pincite_here: Pincite, tmp_path: Path) -> None:
    result = pincite_here("inspect", "gone.pdf", cwd=tmp_path)
    assert result.returncode == 2 and "no such file: gone.pdf" in result.stderr


def test_a_page_is_replaced_when_the_document_is_inspected_again(
    pincite_here: Pincite, tmp_path: Path
) -> None:
    document = tmp_path / "odd name \n<b>.md"
    document.write_text("# First title\n\nSome text.")
    assert pincite_here("inspect", document.name, cwd=tmp_path).returncode == 0
    document.write_text("# Second title\n\nSome text.")
    assert pincite_here("inspect", document.name, cwd=tmp_path).returncode == 0
    (page,) = tmp_path.glob("*.html")
    content = page.read_text(encoding="utf-8")
    assert "Second title" in content and "First title" not in content and "odd name &lt;b&gt;.md" in content
