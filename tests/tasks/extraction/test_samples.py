"""The committed samples are what the script makes, and each is read as its description says."""

import hashlib
import json
import runpy
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from pincite.schemas.errors import DocumentError, Encrypted, Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract

SAMPLES = Path(__file__).parents[3] / "samples"
DOCUMENTS = SAMPLES / "documents"
WORDS = runpy.run_path(str(SAMPLES / "words.py"))
MADE = json.loads((SAMPLES / "made.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """All documents as two runs of the script make them now."""
    runs = []
    for number in (1, 2):
        folder = tmp_path_factory.mktemp("samples") / str(number)
        command = [sys.executable, str(SAMPLES / "make.py"), "--to", str(folder)]
        subprocess.run(command, check=True, timeout=120)
        runs.append({path.name: path.read_bytes() for path in folder.iterdir()})
    return runs


def sums(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}


def read(name: str) -> Extraction:
    return extract(DOCUMENTS / name, Settings(), lambda page: None)


def headings(extraction: Extraction) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in extraction.blocks if block.kind == "heading"]


def test_the_committed_documents_are_those_of_the_manifest() -> None:
    assert sums({path.name: path.read_bytes() for path in DOCUMENTS.iterdir()}) == MADE["sha256"]


def test_the_script_makes_the_same_bytes_on_every_run(made: list[dict[str, bytes]]) -> None:
    assert sums(made[0]) == sums(made[1])


def test_the_script_reproduces_the_committed_bytes(made: list[dict[str, bytes]]) -> None:
    here = {name: version(name) for name in MADE["libraries"]}
    drawn = {name for name in made[0] if name.endswith(".pdf")} if here != MADE["libraries"] else set()
    expected = {name: sha256 for name, sha256 in MADE["sha256"].items() if name not in drawn}
    assert {name: sha256 for name, sha256 in sums(made[0]).items() if name not in drawn} == expected
    assert made[0].keys() == MADE["sha256"].keys()


def test_every_document_is_small_and_described() -> None:
    described = (SAMPLES / "README.md").read_text(encoding="utf-8")
    for path in DOCUMENTS.iterdir():
        assert path.stat().st_size < 150_000
        assert f"`{path.name}`" in described


def test_the_handbook_has_four_levels_and_no_heading_from_its_code() -> None:
    extraction = read("operator-handbook.md")
    assert extraction.title == "Operator handbook for the TP series"
    assert (4, "Direction of rotation") in headings(extraction)
    assert not any("Clear" in title or "seconds" in title for _, title in headings(extraction))
    assert [block.kind for block in extraction.blocks].count("code") == 3  # front matter and two fences


def test_the_shift_log_has_its_shifts_as_headings() -> None:
    titles = headings(read("shift-log.txt"))
    assert titles[0][0] == 1 and (2, "Tuesday, late shift") in titles and len(titles) == 5


def test_the_html_page_keeps_its_table_and_leaves_out_the_site_and_the_draft() -> None:
    extraction = read("error-codes.html")
    assert "| ERR-4042 | Dry running: no flow for 40 seconds |" in extraction.text
    assert "Drawing of the small door" in extraction.text
    own = "\n".join(
        extraction.text[one.start : one.end] for one in extraction.blocks if one.kind != "boilerplate"
    )
    assert not any(word in own for word in ("Draft", "Quay Street", "Service\n", "console.log"))
    assert "Quay Street" in extraction.text
    assert sorted(warning.code for warning in extraction.warnings) == ["boilerplate", "hidden-text"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("regulations-uk.html", "Підшипники змащують двічі на рік, у квітні та в жовтні."),
        ("storage-rules-zh.txt", "包装潮湿的轴承不得入库，应在三天之内退回供应商。"),
        ("underhall-sv.md", "Slå aldrig på axeln med hammare."),
    ],
)
def test_other_languages_come_through(name: str, words: str) -> None:
    extraction = read(name)
    assert words in extraction.text and extraction.warnings == ()


@pytest.mark.parametrize(
    ("name", "error", "reason"),
    [
        ("nothing.txt", Unreadable, "empty file"),
        ("service-bulletin-31-truncated.pdf", Unreadable, "PDF"),
        ("purchase-contract-encrypted.pdf", Encrypted, "password"),
    ],
)
def test_a_broken_document_fails_with_its_reason(name: str, error: type[DocumentError], reason: str) -> None:
    with pytest.raises(error, match=reason):
        read(name)


def test_the_bulletin_is_read_column_by_column_under_its_title() -> None:
    extraction = read("service-bulletin-31.pdf")
    words = [" ".join(text.split()) for _, text in WORDS["BULLETIN"]]
    text = " ".join(extraction.text.split())
    places = [text.find(part) for part in (WORDS["BULLETIN_TITLE"], *words)]
    assert -1 not in places and places == sorted(places)
    titles = [title for _, title in headings(extraction)]
    assert titles == [
        WORDS["BULLETIN_TITLE"],
        "What was reported",
        "Cause",
        "What to do",
        "Costs",
        "Afterwards",
    ]


def test_the_catalogue_keeps_every_row_and_its_running_lines_stay_out() -> None:
    extraction = read("spare-parts-catalogue.pdf")
    for line in WORDS["CATALOGUE"].splitlines():
        assert f"| {' | '.join(line.split('|'))} |" in extraction.text
    tables = [block for block in extraction.blocks if block.kind == "table"]
    assert tables and all(table.repeat == f"| {' | '.join(WORDS['CATALOGUE_HEAD'])} |" for table in tables)
    assert "Page 2" not in extraction.text
    assert extraction.text.startswith("Tarnholm Pump Works - Spare parts catalogue 2023"), (
        "the first one stays"
    )
    assert extraction.text.count("catalogue 2023") == 1
    assert [page.number for page in extraction.pages] == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "source"),
    [("inspection-report-scan.pdf", "INSPECTION_SCAN"), ("delivery-note-rotated-scan.pdf", "DELIVERY_SCAN")],
)
def test_a_scan_is_read_by_ocr_whichever_way_it_lies(name: str, source: str) -> None:
    extraction = read(name)
    read_words = set(extraction.text.split())
    expected = WORDS[source].split()
    assert sum(word in read_words for word in expected) >= 0.97 * len(expected)
    (page,) = extraction.pages
    assert page.ocr and page.ocr_confidence is not None and page.ocr_confidence > 80
    assert extraction.words


def test_of_a_mixed_file_only_the_scanned_page_is_read_by_ocr_and_each_page_once() -> None:
    extraction = read("service-file-34-0933.pdf")
    assert [page.ocr for page in extraction.pages] == [False, True, False]
    words = ("drainage board of Marshfield", "SEAL-MG1-43", "12,480 hours")
    for page, phrase in zip(extraction.pages, words, strict=True):
        assert phrase in extraction.text[page.start : page.end]
        assert extraction.text.count(phrase) == 1
