"""A forgetting or a vacuum comes in between two steps of something else."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pincite.schemas.errors import Failure
from pincite.storage.erasure.forget import Forgotten, forget
from pincite.storage.locks.reader_leases import Lease
from pincite.storage.maintenance.export_import import export_index
from pincite.storage.migration.state import newest_migration
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import find
from pincite.tasks.migration.derive import Derived, Known
from tests.storage.building import fill, found
from tests.storage.maintaining import broken_checks, compacted, vacuumed
from tests.storage.migrating import (
    TEXTS,
    TWIN,
    WIDE,
    assert_level,
    begun,
    builder_of,
    make,
    migrate_to,
    move,
    nightly,
)

LEFT = sorted(set(TEXTS) - {"6.txt"})


@pytest.fixture
def index(index: Path, source: Path) -> Path:
    fill(source, TEXTS)
    make(index, source)
    return index


def forgotten(index: Path, name: str = "6.txt") -> Forgotten:
    with Index.open(index) as opened:
        return forget(opened, find(opened, name))


def once(doing: Callable[[], object]) -> Callable[[], None]:
    left = [doing]

    def do() -> None:
        if left:
            left.pop()()

    return do


def bytes_of(index: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(index.rglob("*")) if path.is_file())


def test_a_migration_reads_on_when_a_document_is_forgotten_and_does_not_bring_it_back(
    index: Path, source: Path
) -> None:
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        builder = builder_of(opened, migration, migration.target)
        builder._most = 2  # the next batch is read from files that are no longer there
        derive, meanwhile = builder._standby.derive, once(lambda: forgotten(index))

        def slow(documents: Sequence[Known], embed: bool) -> Sequence[Derived | Failure]:
            derived = derive(documents, embed)
            meanwhile()
            return derived

        object.__setattr__(builder._standby, "derive", slow)
        builder.catch_up()
        assert builder.missing() == () and move(opened, migration, migration.target)
        assert_level(opened)
        assert sorted(found(index)) == LEFT
        forgotten(index, "5.txt")  # between the switch and the way back
        assert move(opened, migration, migration.source)
        assert_level(opened)
    nightly(index, source)
    assert sorted(found(index)) == LEFT[:-1] and broken_checks(index) == []
    assert b"word6" not in bytes_of(index) and b"word5" not in bytes_of(index)


def test_what_is_left_of_a_segment_is_not_taken_for_a_copy_in_another_space(
    index: Path, source: Path
) -> None:
    """Files are named by their rows, and the postings of a document are the same rows in every space."""
    fill(source, {"a.txt": "# A\n\none", "b.txt": "# B\n\ntwo"})
    other = index.parent / "other"
    make(other, source)  # its third segment has the postings of both
    forgotten(other, "b.txt")
    assert migrate_to(other, WIDE) and migrate_to(other, TWIN)  # the third space
    assert found(other) == {"a.txt": ["one"]} and broken_checks(other) == []


def replaced_and_vacuumed(index: Path, source: Path) -> None:
    nightly(index, fill(source, TEXTS | {"0.txt": "# Other\n\nchanged"}))
    compacted(index)
    vacuumed(index)


@pytest.mark.parametrize("what", ["snapshot", "export"])
def test_the_newest_version_is_held_though_it_is_vacuumed_away_before_it_could_be(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    hold, meanwhile = Lease.hold, once(lambda: replaced_and_vacuumed(index, source))

    def late(lease: Lease, version: int) -> None:
        meanwhile()
        hold(lease, version)

    monkeypatch.setattr(Lease, "hold", late)
    with Index.open(index) as opened:
        if what == "export":
            assert export_index(opened, index.parent / "one.tar").version > 1
        else:
            with opened.held_snapshot() as snapshot:
                assert "changed" in snapshot.chunks(["content"])["content"].to_pylist()
        assert newest_migration(opened) is None
