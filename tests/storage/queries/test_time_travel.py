"""What the index said at a former moment: by version, by time, in reports and in SQL."""

import time
from pathlib import Path

import pytest

from pincite.schemas.errors import UsageError
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import local
from pincite.storage.queries.index_report import document_reports, index_report
from pincite.storage.queries.sql import query
from pincite.storage.snapshots.index import Index
from tests.storage.building import PERMANENT, POLICY, fill, reindex
from tests.storage.maintaining import compacted, vacuumed


def monday_to_wednesday(index: Path, source: Path) -> list[float]:
    """Three days: b.txt fails on Tuesday and is mended on Wednesday, when c.txt goes and d.txt fails."""
    days = [
        {"a.txt": "# A\n\none", "b.txt": "# B\n\ntwo", "c.txt": "# C\n\nthree"},
        {"a.txt": "# A\n\none\n\nmore", "b.txt": PERMANENT, "c.txt": "# C\n\nthree"},
        {"a.txt": "# A\n\none\n\nmore", "b.txt": "# B\n\nmended", "d.txt": PERMANENT},
    ]
    ends = []
    for files in days:
        reindex(index, fill(source, files))
        ends.append(time.time())
        time.sleep(0.01)
    return ends


def stood(index: Path, at: float | None = None, version: int | None = None) -> dict[str, tuple[str, int]]:
    """State and chunks of each document, by path."""
    with Index.open(index) as opened:
        reports = document_reports(opened, POLICY.recipe, moment=opened.moment(version, at))
        return {one.path: (one.state, one.live.chunks if one.live else 0) for one in reports}


def test_documents_stand_as_they_stood(index: Path, source: Path) -> None:
    monday, tuesday, wednesday = monday_to_wednesday(index, source)
    one, two = ("indexed", 1), ("indexed", 2)
    assert stood(index, monday) == {"a.txt": one, "b.txt": one, "c.txt": one}
    assert stood(index, tuesday) == {"a.txt": two, "b.txt": ("failed", 1), "c.txt": one}
    now = {"a.txt": two, "b.txt": one, "d.txt": ("failed", 0)}
    assert stood(index, wednesday) == now == stood(index) == stood(index, time.time() + 60)
    compacted(index)
    assert stood(index, tuesday) == {"a.txt": two, "b.txt": ("failed", 1), "c.txt": one}
    assert stood(index, version=1) == {"a.txt": one, "b.txt": one, "c.txt": one}


def test_the_report_counts_what_stood_then(index: Path, source: Path) -> None:
    _, tuesday, _ = monday_to_wednesday(index, source)
    with Index.open(index) as opened:
        report = index_report(opened, POLICY.recipe, opened.moment(at=tuesday))
        assert dict(report.states) == {"indexed": 2, "failed": 1}
        assert dict(report.stale) == {f"the newer version failed: {PERMANENT}": 1}
        assert report.chunks == 4
        assert report.last_run is not None and report.last_run["indexed"] == 1


def test_sql_shows_documents_and_failures_of_the_moment(index: Path, source: Path) -> None:
    _, tuesday, _ = monday_to_wednesday(index, source)
    with Index.open(index) as opened:
        rows = query(
            opened,
            "SELECT path, state, chunks, stale_reason FROM documents ORDER BY path",
            moment=opened.moment(at=tuesday),
        ).to_pylist()
        failed = query(opened, "SELECT path, stage, page FROM failures", moment=opened.moment(at=tuesday))
    assert [tuple(row.values()) for row in rows] == [
        ("a.txt", "indexed", 2, ""),
        ("b.txt", "failed", 1, f"the newer version failed: {PERMANENT}"),
        ("c.txt", "indexed", 1, ""),
    ]
    assert failed.to_pylist() == [{"path": "b.txt", "stage": "embed", "page": 2}]


def test_a_rename_is_undone_on_the_way_back(index: Path, source: Path) -> None:
    reindex(index, fill(source, {"a.txt": "# A\n\none"}))
    (source / "a.txt").rename(source / "z.txt")
    reindex(index, source)
    assert stood(index, version=1) == {"a.txt": ("indexed", 1)}
    assert stood(index) == {"z.txt": ("indexed", 1)}


def test_moments_that_never_were_or_are_not_kept_are_refused(index: Path, source: Path) -> None:
    monday, *_ = monday_to_wednesday(index, source)
    with Index.open(index) as opened:
        with pytest.raises(UsageError, match=r"held nothing before .* its first version is of"):
            opened.moment(at=monday - 3_600)
        with pytest.raises(UsageError, match="say one of them"):
            opened.moment(version=1, at=monday)
        vacuumed(index)
        with pytest.raises(UsageError, match="version 1 is no longer kept"):
            opened.moment(at=monday)
    reindex(index.with_name("empty"), fill(source.with_name("nothing"), {}))
    with (
        Index.open(index.with_name("empty")) as opened,
        pytest.raises(UsageError, match="has no version yet"),
    ):
        opened.moment(at=time.time())


def test_a_version_stands_until_the_run_that_made_the_next_one(index: Path, source: Path) -> None:
    monday_to_wednesday(index, source)
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        runs = connection.execute(schema.runs.select().order_by(schema.runs.c.started_at)).all()
        assert opened.moment(version=1).until == runs[1].started_at
        assert opened.moment().newest
    assert local(0.0).startswith("1970-01-01") or local(0.0).startswith("1969-12-31")
