"""Stored texts of single documents at a version."""

from pathlib import Path

import pyarrow as pa
import pytest

from pincite.schemas.errors import IndexBroken, UsageError
from pincite.storage.documents.texts import read_texts
from pincite.storage.segments import segment
from pincite.storage.snapshots.index import Index
from tests.storage.building import fill, reindex


def ids(index: Index) -> dict[str, str]:
    with index.snapshot() as snapshot:
        return {one.path: one.document_id for one in snapshot.documents()}


def test_texts_come_with_their_document_and_source(tmp_path: Path) -> None:
    source = fill(tmp_path / "docs", {"a.txt": "Насос 🛠", "sub/b.txt": "two\n\nthree"})
    reindex(tmp_path / "index", source)
    with Index.open(tmp_path / "index") as index:
        found = read_texts(index, [*ids(index).values(), "no-such-id"])
    assert {one.document.path: one.text for one in found.values()} == {
        "a.txt": "Насос 🛠",
        "sub/b.txt": "two\n\nthree",
    }
    assert all(one.document.source == str(source) and one.pages[0].number == 1 for one in found.values())


def test_each_version_keeps_its_text_and_a_renamed_document_is_found(tmp_path: Path) -> None:
    source = fill(tmp_path / "docs", {"a.txt": "old", "c.txt": "keeps"})
    reindex(tmp_path / "index", source)
    with Index.open(tmp_path / "index") as index:
        first = ids(index)
        with index.snapshot() as snapshot:
            version = snapshot.version
        fill(source, {"a.txt": "new"})
        (source / "d.txt").write_text("keeps", encoding="utf-8")
        reindex(tmp_path / "index", source)
        now = ids(index)
        assert {path: read_texts(index, [one])[one].text for path, one in now.items()} == {
            "a.txt": "new",
            "d.txt": "keeps",
        }
        assert read_texts(index, [first["a.txt"]], version)[first["a.txt"]].text == "old"
        with pytest.raises(UsageError, match="no version 99"):
            read_texts(index, [], 99)


def test_only_the_segment_of_the_document_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = fill(tmp_path / "docs", {f"{n}.txt": f"text {n}" for n in range(9)})
    reindex(tmp_path / "index", source)
    read: list[str] = []
    original = segment.read_segment

    def counted(index: Path, file: str, *rest: object) -> pa.Table:
        read.append(file)
        return original(index, file, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("pincite.storage.snapshots.snapshot.read_segment", counted)
    with Index.open(tmp_path / "index") as index:
        one = ids(index)["8.txt"]
        assert read_texts(index, [one])[one].text == "text 8"
    assert len(read) == 1


def test_a_live_document_without_a_text_is_a_broken_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = fill(tmp_path / "docs", {"a.txt": "x"})
    reindex(tmp_path / "index", source)
    with Index.open(tmp_path / "index") as index:
        one = ids(index)["a.txt"]
        monkeypatch.setattr("pincite.storage.snapshots.snapshot.Snapshot.of_kind", lambda self, kind: ())
        with pytest.raises(IndexBroken, match=r"document a\.txt but not its text"):
            read_texts(index, [one])
