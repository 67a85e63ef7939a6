"""Reports say what the ledger and the live revisions say."""

from dataclasses import replace
from pathlib import Path

import pytest

from pincite.schemas.errors import UsageError
from pincite.storage.queries.index_report import document_reports, index_report, progress
from pincite.storage.snapshots.index import Index
from tests.storage.building import PERMANENT, POLICY, SPACE, fill, reindex


def test_states_chunks_and_stale_documents_are_counted(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "one\n\ntwo", "b.txt": "three", "c.txt": PERMANENT, "d.txt": "four"})
    reindex(index, source)
    (source / "a.txt").write_text(PERMANENT)
    (source / "d.txt").unlink()
    reindex(index, source)
    with Index.open(index) as opened:
        report = index_report(opened, POLICY.recipe)
        assert dict(report.states) == {"failed": 2, "indexed": 1}
        assert dict(report.stale) == {f"the newer version failed: {PERMANENT}": 1}
        assert (report.chunks, report.over_window, report.space) == (3, 0, SPACE)
        assert report.sources == (str(source),)
        assert report.last_run is not None
        counts = {
            name: report.last_run[name]
            for name in ("discovered", "indexed", "failed", "unchanged", "deleted")
        }
        assert counts == {"discovered": 4, "indexed": 0, "failed": 2, "unchanged": 1, "deleted": 1}
        assert progress(opened, str(source)) == {"failed": 2, "indexed": 1}
        assert progress(opened, "/another") == {}


@pytest.mark.parametrize(
    ("state", "paths"),
    [
        (None, ["a.txt", "b.txt", "c.txt"]),
        ("indexed", ["a.txt", "b.txt"]),
        ("failed", ["c.txt"]),
        ("stale", ["a.txt", "b.txt"]),
        ("pending", []),
    ],
)
def test_documents_are_listed_by_state(
    index: Path, source: Path, state: str | None, paths: list[str]
) -> None:
    fill(source, {"c.txt": PERMANENT, "b.txt": "three", "a.txt": "one"})
    reindex(index, source)
    with Index.open(index) as opened:
        reports = document_reports(opened, "other settings", state)
        assert [report.path for report in reports] == paths
        assert [report.live is None for report in reports] == [path == "c.txt" for path in paths]


def test_a_state_that_no_document_has_is_refused(index: Path, source: Path) -> None:
    reindex(index, source)
    with (
        Index.open(index) as opened,
        pytest.raises(UsageError, match="'failing': ask for one of indexed, failed"),
    ):
        document_reports(opened, None, "failing")


def test_made_with_other_settings_gives_way_to_a_graver_reason(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "one"})
    reindex(index, source)
    (source / "a.txt").write_text(PERMANENT)
    newer = replace(POLICY, recipe="newer")
    reindex(index, source, newer)
    with Index.open(index) as opened:
        (report,) = document_reports(opened, "newer", "stale")
        assert report.stale_reason == f"the newer version failed: {PERMANENT}"
