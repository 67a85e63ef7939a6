"""What is wrong with an index is found, and said with its remedy."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.schemas.health import Finding
from pincite.schemas.records import Configuration
from pincite.storage.checks.doctor import RUN_AGAIN, examine
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.reader_leases import Lease
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.snapshots.index import Index
from tests.storage.building import PERMANENT, POLICY, SPACE, fill, reindex
from tests.storage.runs.test_runs import HOLDER

ROOT = Path(__file__).parents[3]


def findings(index: Path, recipe: str = POLICY.recipe) -> list[Finding]:
    with Index.open(index) as opened:
        seen = list(examine(opened, recipe))
    assert all(one.remedy for one in seen if one.level != "ok"), "each finding has its remedy"
    return seen


def said(index: Path, level: str, recipe: str = POLICY.recipe) -> Iterator[tuple[str, str, bool]]:
    for one in findings(index, recipe):
        if one.level == level and one.area not in ("disk",):
            yield one.area, one.what, bool(one.remedy)


@pytest.fixture
def sound(index: Path, source: Path) -> Path:
    reindex(index, fill(source, {"a.txt": "# A\n\nwords", "b.txt": "# B\n\nothers"}))
    with Index.open(index) as opened:
        refresh_cache(opened)
    return index


def test_a_sound_index_has_nothing_wrong(sound: Path) -> None:
    assert list(said(sound, "wrong")) == list(said(sound, "note")) == []
    assert {one.area for one in findings(sound)} == {
        "ledger", "documents", "segments", "cache", "disk", "versions"
    }  # fmt: skip


def test_failed_and_stale_documents_are_counted_by_reason(sound: Path, source: Path) -> None:
    (source / "c.txt").write_text(PERMANENT)
    reindex(sound, source)
    assert list(said(sound, "wrong")) == [("documents", "1 failed: error", True)]
    stale = "2 stale: made with other settings of the pipeline or of OCR"
    assert ("documents", stale, True) in list(said(sound, "note", "other"))


@pytest.mark.parametrize(
    ("now", "why", "remedy"),
    [
        ({"space": replace(SPACE, model="other")}, "the settings ask for other", "`pincite migrate`"),
        ({"space": replace(SPACE, chunker="A")}, "the settings ask for A", "`pincite migrate`"),
        ({"extractors": {"extractor-of-tests": "2"}}, "extractor-of-tests 1, now 2", RUN_AGAIN),
        ({"recipe": "other"}, "other settings of the pipeline", RUN_AGAIN),
        (
            {"space": replace(SPACE, model="other"), "recipe": "other"},
            "the settings ask for other",
            f"`pincite migrate` and {RUN_AGAIN}",
        ),
    ],
)
def test_what_is_stale_for_each_reason_has_the_remedy_of_that_reason(
    sound: Path, now: dict[str, Any], why: str, remedy: str
) -> None:
    current = replace(Configuration(POLICY.recipe), **now)
    with Index.open(sound) as opened:
        (stale,) = [one for one in examine(opened, current) if "stale" in one.what]
    assert stale.what.startswith("2 stale: ") and why in stale.what and stale.remedy == remedy


def test_a_document_whose_newer_version_failed_is_to_be_retried(sound: Path, source: Path) -> None:
    (source / "a.txt").write_text(PERMANENT)
    reindex(sound, source)
    (stale,) = [one for one in findings(sound) if "stale" in one.what]
    assert "the newer version failed" in stale.what and "pincite retry" in stale.remedy


def test_stuck_documents_and_unclaimed_files_of_a_killed_run(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "one", "b.txt": "two", "c.txt": "three"})
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(index), str(source)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        assert any("reindex is running: process" in what for _, what, _ in said(index, "note"))
        holder.send_signal(signal.SIGKILL)
    assert list(said(index, "wrong")) == [
        ("documents", "2 stuck: the run that held them is gone", True),
        ("documents", "1 waits and no run is at work", True),
    ]
    assert any(what.startswith("2 files that no transaction claimed") for _, what, _ in said(index, "note"))
    reindex(index, source)
    assert list(said(index, "wrong")) == []


def test_lost_and_damaged_segments(sound: Path) -> None:
    (chunks,) = (sound / "segments" / "chunks").iterdir()
    (texts,) = (sound / "segments" / "texts").iterdir()
    chunks.unlink()
    texts.write_bytes(texts.read_bytes()[:-1])
    assert [what.split(",")[0] for _, what, _ in said(sound, "wrong")] == [
        "1 missing",
        "1 not of the size that was written",
    ]


def test_a_damaged_ledger_is_the_only_finding(sound: Path) -> None:
    with Index.open(sound) as opened, transactions.writing(opened.engine) as connection:
        connection.exec_driver_sql("PRAGMA writable_schema=ON")
        connection.exec_driver_sql("UPDATE sqlite_master SET rootpage=3 WHERE name='attempts'")
    (finding,) = findings(sound)
    assert (finding.area, finding.level) == ("ledger", "wrong") and "restore" in finding.remedy


def test_the_cache_and_its_damage(sound: Path) -> None:
    (pack,) = (sound / "cache").glob("*.pack")
    pack.write_bytes(b"half")
    notes = [what for area, what, _ in said(sound, "note") if area == "cache"]
    assert notes[0].startswith(f"{pack.name} can't be used") and notes[1] == "not in it: 1 of 1 unit"


def test_what_vacuum_could_free_and_who_reads(sound: Path, source: Path) -> None:
    (source / "a.txt").write_text("# A\n\nnewer")
    reindex(sound, source)
    with Index.open(sound) as opened, transactions.writing(opened.engine) as connection:
        connection.execute(
            schema.segments.update().where(schema.segments.c.began_version == 1).values(ended_version=2)
        )
        connection.execute(schema.versions.update().values(committed_at=time.time() - 30 * 86_400))
    assert any("vacuum could free 3 files" in what for _, what, _ in said(sound, "note"))
    with Index.open(sound) as opened:
        Lease(opened.engine).hold(1)
    assert any(
        f"process {os.getpid()} on" in what for area, what, _ in said(sound, "note") if area == "readers"
    )
    assert not any("vacuum could free" in what for _, what, _ in said(sound, "note")), "a reader holds it"
