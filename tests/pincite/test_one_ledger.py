"""A command opens the ledger once: each handle is a pool of connections and a look at the schema."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.commands import Pincite
from tests.storage.building import fill


@pytest.fixture
def handles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ledgers for which an engine was made, in order."""
    made: list[str] = []
    create = sa.create_engine

    def counted(url: sa.URL, **options: object) -> sa.Engine:
        made.append(str(url.database))
        return create(url, **options)

    monkeypatch.setattr(sa, "create_engine", counted)
    return made


def test_index_retry_status_documents_and_search_open_it_once(
    pincite_here: Pincite, tmp_path: Path, handles: list[str]
) -> None:
    source, index = fill(tmp_path / "docs", {"a.txt": "The pump hums."}), tmp_path / "index"
    assert pincite_here("index", source, "--index", index).returncode == 0
    ledger = str(index / "ledger.sqlite")
    assert handles.count(ledger) == 1 and len(handles) == 2, "and one on the draft of a new ledger"
    (source / "b.txt").write_text("The seal leaks.")
    for command in (
        ("index", source),
        ("index", source),
        ("retry",),
        ("status",),
        ("documents",),
        ("search", "pump", "--mode", "bm25"),
        ("doctor",),
    ):
        handles.clear()
        done = pincite_here(*command, "--index", index)
        assert (done.returncode, handles) == (0, [ledger]), (command, done.stderr)
