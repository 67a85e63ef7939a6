"""Indexes that older versions of Pincite made (`old_indexes/`, one folder a schema version) open and hold."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pincite.schemas.errors import NotFound
from pincite.storage.checks.verify import verify
from pincite.storage.erasure.forget import verify_forgotten
from pincite.storage.ledger import schema, transactions, upgrades
from pincite.storage.ledger.sqlite import connect
from pincite.storage.queries.index_report import document_reports
from pincite.storage.snapshots.index import LEDGER_FILE, Index
from pincite.storage.tombstones import allow_again, unproven

OLD = sorted((Path(__file__).parent / "old_indexes").iterdir())


@pytest.fixture(params=OLD, ids=lambda path: f"schema {path.name}")
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(request.param, tmp_path / "index"))


def test_there_is_an_old_index_of_every_schema_version_before_this_one() -> None:
    assert [path.name for path in OLD] == [str(n) for n in range(1, int(schema.SCHEMA_VERSION))]


def test_an_old_index_opens_with_all_its_documents_and_invariants(old: Path) -> None:
    with Index.open(old) as index:
        states = {one.path: one.state for one in document_reports(index, None)}
        fit = {one.path: one.live.encoder_fit for one in document_reports(index, None) if one.live}
        checks = verify(index)
    assert states == {
        "broken.pdf": "failed",
        "parts.csv": "indexed",
        "pump.md": "indexed",
        "насос.txt": "indexed",
    }
    assert fit == {"parts.csv": True, "pump.md": True, "насос.txt": False}
    assert [check for check in checks if not check.ok] == []


def test_an_upgraded_ledger_has_the_schema_of_a_new_one(old: Path, tmp_path: Path) -> None:
    Index.open(old).close()
    engine = connect(tmp_path / "new.sqlite")
    with transactions.writing(engine) as connection:
        upgrades.create_schema(connection)
    engine.dispose()
    assert _columns(old / LEDGER_FILE) == _columns(tmp_path / "new.sqlite")
    assert _indexes(old / LEDGER_FILE) == _indexes(tmp_path / "new.sqlite")


def test_what_schema_2_had_forgotten_stays_forgotten_and_is_yet_to_be_proven(tmp_path: Path) -> None:
    old = Path(shutil.copytree(Path(__file__).parent / "old_indexes" / "2", tmp_path / "index"))
    with Index.open(old) as index:
        before = _unproven(index)
        verified = verify_forgotten(index)
        assert (len(before), _unproven(index)) == (1, ())
        assert verified.document_ids == before and verified.proof.found == ()
        with pytest.raises(NotFound):
            allow_again(index, "another.txt")
        assert allow_again(index, "secret.txt") == 1


def _unproven(index: Index) -> tuple[str, ...]:
    with transactions.reading(index.engine) as connection:
        return unproven(connection)


def test_an_upgrade_that_is_broken_off_changes_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _columns(old / LEDGER_FILE)

    def fails(connection: object) -> None:
        upgrades._STEPS_BEFORE[old_version](connection)  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    with closing(sqlite3.connect(old / LEDGER_FILE)) as raw:
        old_version = raw.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()[0]
    monkeypatch.setattr(upgrades, "_STEPS_BEFORE", dict(upgrades._STEPS), raising=False)
    monkeypatch.setitem(upgrades._STEPS, old_version, fails)
    with pytest.raises(KeyboardInterrupt):
        Index.open(old)
    assert _columns(old / LEDGER_FILE) == before


def _indexes(ledger_file: Path) -> dict[str, str]:
    """What each index is on, as it was declared."""
    with closing(sqlite3.connect(ledger_file)) as raw:
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        return {name: " ".join(sql.split()) for name, sql in raw.execute(query)}


def _columns(ledger_file: Path) -> dict[str, list[tuple[str, int]]]:
    """(name, not null) of the columns of each table."""
    with closing(sqlite3.connect(ledger_file)) as raw:
        tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            table: sorted((row[1], row[3]) for row in raw.execute(f"PRAGMA table_info({table})"))
            for table in sorted(tables)
            if not table.startswith("sqlite_")
        }
