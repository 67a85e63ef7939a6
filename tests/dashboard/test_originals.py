"""The file behind a page image: the one that was indexed, or the reason why it is not shown."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest

from dashboard.originals import CHANGED, original
from dashboard.sheets import draw
from storage.index import Index
from storage.listing import list_documents
from storage.whole_document import read_whole
from tests.dashboard.conftest import SAMPLES, SETTINGS, reindex

BYTES = (SAMPLES / "service-bulletin-31.pdf").read_bytes()
SHA256 = hashlib.sha256(BYTES).hexdigest()


@pytest.fixture
def bucket() -> Iterator[str]:
    """A store of objects in this process."""
    system = fsspec.filesystem("memory")
    system.pipe("/shelf/reports/bulletin.pdf", BYTES)
    yield "memory://shelf"
    system.rm("/shelf", recursive=True)


def test_an_object_is_shown_while_it_is_the_one_that_was_indexed(bucket: str) -> None:
    with original(bucket, "reports/bulletin.pdf", SHA256, SETTINGS) as (path, missing):
        assert missing == "" and path.read_bytes() == BYTES and path.suffix == ".pdf"
        with original(bucket, "reports/bulletin.pdf", SHA256, SETTINGS) as (again, _):
            assert again == path
    fsspec.filesystem("memory").pipe("/shelf/reports/bulletin.pdf", BYTES + b"\n")
    with original(bucket, "reports/bulletin.pdf", "0" * 64, SETTINGS) as (_, missing):
        assert missing == CHANGED


def test_an_object_that_can_not_be_had_is_said_so(bucket: str) -> None:
    small = replace(SETTINGS, limits=replace(SETTINGS.limits, source_bytes=100))
    with original(bucket, "reports/bulletin.pdf", "1" * 64, small) as (_, missing):
        assert "larger than 100 bytes" in missing
    with original(bucket, "reports/gone.pdf", SHA256, SETTINGS) as (_, missing):
        assert "vanished" in missing


def test_a_page_of_a_document_from_a_bucket_is_drawn(bucket: str, tmp_path: Path) -> None:
    reindex(tmp_path / "index", bucket)
    with Index.open(tmp_path / "index") as index:
        (listed,) = list_documents(index, None).documents
        whole = read_whole(index, listed.document_id)
        assert whole is not None
        shown = draw(whole, 1, SETTINGS)
        assert shown.missing == "" and shown.sheet is not None and shown.sheet.blocks and shown.sheet.image
        fsspec.filesystem("memory").pipe("/shelf/reports/bulletin.pdf", BYTES + b"\n")
        other = replace(whole, document=replace(whole.document, source_sha256="2" * 64))
        assert draw(other, 1, SETTINGS).missing == CHANGED


def test_a_page_of_a_long_pdf_is_drawn_with_its_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.sheets.MOST_INSPECTED", 0)  # so that any PDF is long
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "bulletin.pdf").write_bytes(BYTES)
    reindex(tmp_path / "index", folder)
    with Index.open(tmp_path / "index") as index:
        (listed,) = list_documents(index, None).documents
        whole = read_whole(index, listed.document_id)
    assert whole is not None
    shown = draw(whole, 1, SETTINGS)
    assert shown.sheet is not None and shown.sheet.blocks and shown.sheet.image
    assert draw(whole, 41, SETTINGS).missing == "the document has no page 41"
