"""The file behind a page image: the one that was indexed, or the reason why it is not shown."""

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from pincite.dashboard.state.serving import Serving
from pincite.dashboard.state.thread_pool import Work
from pincite.dashboard.views import source_files
from pincite.dashboard.views.page_images import Drawn, draw
from pincite.dashboard.views.passages import open_stretch
from pincite.dashboard.views.source_files import CHANGED, Origin, keep_live_objects, original
from pincite.schemas.settings import Settings
from pincite.storage.documents.whole import WholeDocument, read_whole
from pincite.storage.erasure.forget import forget
from pincite.storage.queries.documents import list_documents
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import find
from tests.dashboard.conftest import ROOT, SAMPLES, SETTINGS, reindex

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
    with original(Origin("1", bucket, "reports/bulletin.pdf", SHA256), SETTINGS) as (path, missing):
        assert missing == "" and path.read_bytes() == BYTES and path.suffix == ".pdf"
        with original(Origin("1", bucket, "reports/bulletin.pdf", SHA256), SETTINGS) as (again, _):
            assert again == path
    fsspec.filesystem("memory").pipe("/shelf/reports/bulletin.pdf", BYTES + b"\n")
    with original(Origin("1", bucket, "reports/bulletin.pdf", "0" * 64), SETTINGS) as (_, missing):
        assert missing == CHANGED


class Slow(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A store in which one object does not come before it is let go."""

    protocol = "slow"
    asked, let_go = threading.Event(), threading.Event()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        stripped: str = super()._strip_protocol(path.replace("slow://", "memory://"))
        return stripped

    def _open(self, path: str, *arguments: Any, **more: Any) -> Any:
        if path.endswith("slow.pdf"):
            self.asked.set()
            assert self.let_go.wait(60)
        return super()._open(path, *arguments, **more)


def test_an_object_that_comes_slowly_keeps_nobody_from_another(bucket: str) -> None:
    fsspec.register_implementation("slow", Slow, clobber=True)
    fsspec.filesystem("memory").pipe("/shelf/reports/slow.pdf", BYTES)

    def looked_at(name: str) -> bytes:
        with original(Origin("1", "slow://shelf", f"reports/{name}", SHA256), SETTINGS) as (path, missing):
            assert missing == ""
            return path.read_bytes()

    with ThreadPoolExecutor(3) as pool:
        slow = [pool.submit(looked_at, "slow.pdf") for _ in range(2)]
        try:
            assert Slow.asked.wait(60)
            assert pool.submit(looked_at, "bulletin.pdf").result(30) == BYTES
            assert not any(one.done() for one in slow)
        finally:
            Slow.let_go.set()
        assert [one.result(30) for one in slow] == [BYTES, BYTES]


def test_an_object_that_can_not_be_had_is_said_so(bucket: str) -> None:
    small = replace(SETTINGS, limits=replace(SETTINGS.limits, source_bytes=100))
    with original(Origin("1", bucket, "reports/bulletin.pdf", "1" * 64), small) as (_, missing):
        assert "larger than 100 bytes" in missing
    with original(Origin("1", bucket, "reports/gone.pdf", SHA256), SETTINGS) as (_, missing):
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
    monkeypatch.setattr("pincite.dashboard.views.page_images.MOST_INSPECTED", 0)  # so that any PDF is long
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


def test_a_forgetting_in_another_process_takes_away_what_was_drawn_and_downloaded(
    bucket: str, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    reindex(index, bucket)
    served = Serving.open(index, SETTINGS, None, Work(1))
    try:
        (listed,) = list_documents(served.index, served.current()).documents
        whole = read_whole(served.index, listed.document_id)
        assert whole is not None
        assert served.sheets.of(served.index, whole, 1, SETTINGS).missing == ""
        with original(Origin.of(whole.document), SETTINGS) as (path, missing):
            assert missing == ""
        served.sheets.keep_live(served.index)
        keep_live_objects(served.index)
        assert path.exists() and len(served.sheets._kept) == 1, "what is live is kept"

        forgetting = [sys.executable, "-m", "pincite", "forget", listed.document_id, "--index", str(index)]
        subprocess.run(forgetting, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
        served.current()  # as any page and any request for documents does
        assert not served.sheets._kept and not path.exists()
    finally:
        served.close()


def test_what_is_forgotten_while_it_is_drawn_or_looked_at_is_dropped_when_that_is_done(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reindex(tmp_path / "index", bucket)
    served = Serving.open(tmp_path / "index", SETTINGS, None, Work(1))

    def forgotten_before_it_is_drawn(whole: WholeDocument, number: int, settings: Settings) -> Drawn:
        with Index.open(tmp_path / "index") as index:
            forget(index, find(index, whole.document.document_id))
        served.current()  # the look of another thread, for which there is no image yet
        return draw(whole, number, settings)

    try:
        (listed,) = list_documents(served.index, served.current()).documents
        whole = read_whole(served.index, listed.document_id)
        assert whole is not None
        with original(Origin.of(whole.document), SETTINGS) as (path, missing):
            assert missing == ""
            monkeypatch.setattr("pincite.dashboard.views.page_images.draw", forgotten_before_it_is_drawn)
            assert served.sheets.of(served.index, whole, 1, SETTINGS).missing == ""
            assert not served.sheets._kept and path.exists(), "who looks at the object has it to the end"
        assert not path.exists() and not source_files._objects._kept
        monkeypatch.undo()
        assert served.sheets.of(served.index, whole, 1, SETTINGS).missing == ""  # of one that asked before
        assert not served.sheets._kept and not source_files._objects._kept
    finally:
        served.close()


def test_an_object_that_is_downloaded_while_its_document_is_forgotten_is_dropped_after_the_passage(
    bucket: str, tmp_path: Path
) -> None:
    reindex(tmp_path / "index", bucket)
    served = Serving.open(tmp_path / "index", SETTINGS, None, Work(1))
    try:
        (listed,) = list_documents(served.index, served.current()).documents
        _, stored = open_stretch(served.index, listed.document_id, 0, 10, 0)
        forget(served.index, find(served.index, listed.document_id))
        served.current()
        pages, missing = served.page_images(stored, 0, 10)
        assert pages and missing == "" and not source_files._objects._kept
    finally:
        served.close()
