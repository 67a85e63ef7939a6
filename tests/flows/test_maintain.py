"""The flow of maintenance compacts when there are many units, and vacuums."""

from pathlib import Path

import pytest

from pincite.flows.maintain import maintain
from pincite.storage.maintenance import compaction
from tests.storage.building import fill, found, reindex
from tests.storage.maintaining import broken_checks, files


def test_a_scheduled_maintenance_leaves_few_segments(
    api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, source = tmp_path / "index", tmp_path / "source"
    for turn in range(3):
        reindex(index, fill(source, {"a.txt": f"# A\n\nturn{turn}", "b.txt": "# B\n\nothers"}))
    state = maintain(str(index), 0.0, return_state=True)
    assert state.is_completed() and state.message.startswith("0 files"), "not many, none ended"
    monkeypatch.setattr(compaction.compact_when_many, "__defaults__", (2,))
    state = maintain(str(index), 0.0, return_state=True)
    assert state.message.startswith("9 segments became 3, 9 files and")
    assert len(files(index)) == 3 and broken_checks(index) == []
    assert found(index) == {"a.txt": ["turn2"], "b.txt": ["others"]}
