"""Archives: each member is read by the extractor of its format, under its name."""

import io
import zipfile
from pathlib import Path

import pytest

from pincite.schemas.errors import LimitExceeded, Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Limits, Settings
from pincite.tasks.extraction.extract import extract
from tests.tasks.extracted import message, places


def pack(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def read(files: dict[str, bytes], folder: Path, limits: Limits | None = None) -> Extraction:
    (folder / "a.zip").write_bytes(pack(files))
    return extract(folder / "a.zip", Settings(limits=limits or Limits()), lambda page: None)


def test_each_file_is_a_section_on_its_place(tmp_path: Path) -> None:
    files = {
        "b/plan.md": b"# Plan\n\nEverything starts in May.\n",
        "a.csv": b"part,stock\nA-1,14\n",
        "__MACOSX/._a.csv": b"\x00",
        "inner.zip": pack({"deep.txt": b"The deepest words.\n"}),
    }
    extraction = read(files, tmp_path)
    assert "## a.csv\n\n| part | stock |" in extraction.text
    assert "Everything starts in May." in places(extraction)["b/plan.md"]
    assert "The deepest words." in places(extraction)["inner.zip"]
    plan = next(block for block in extraction.blocks if block.title == "Plan")
    assert plan.level == 3  # below the file's own name
    assert extraction.warnings == ()


def test_what_can_not_be_read_is_named_with_its_reason(tmp_path: Path) -> None:
    extraction = read(
        {"a.txt": b"Words.\n", "broken.pdf": b"%PDF-1.4\x00 no", "b.bin": b"\x01\x02\x03"}, tmp_path
    )
    assert "Words." in extraction.text
    assert "broken.pdf (" in message(extraction, "not-followed")
    assert "b.bin (unsupported format" in message(extraction, "not-followed")


def test_archives_within_archives_end(tmp_path: Path) -> None:
    data = b"The deepest words.\n"
    for _ in range(12):
        data = pack({"a.zip" if data[:2] == b"PK" else "a.txt": data})
    with pytest.raises(Unreadable, match="deep"):
        read({"a.zip": data}, tmp_path)


def test_an_archive_that_inflates_too_far_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LimitExceeded):
        read({"a.txt": b"word " * 100_000}, tmp_path, Limits(inflated_bytes=10_000))
