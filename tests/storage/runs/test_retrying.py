"""What is tried again, when, how often, and which document is blamed for the end of a run."""

import itertools
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pincite.schemas.errors import DocumentError, Encrypted, SourceChanged
from pincite.schemas.records import Collection, Counts
from pincite.schemas.retrying import FIRST_WAIT_S, LONGEST_WAIT_S, outlook_of, remedy_of, wait_s
from pincite.schemas.settings import Limits, Settings
from pincite.storage.checks.verify import verify
from pincite.storage.queries.index_report import attempt_history, document_reports
from pincite.storage.runs.commit import lease
from pincite.storage.runs.registration import is_idle, known_files
from pincite.storage.runs.runs import begin_run
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import discover, look, settle_if_idle
from pincite.tasks.extraction import stamps
from pincite.tasks.extraction.registry import formats
from pincite.tasks.extraction.stamps import extractors_digest
from pincite.tasks.sources.source import open_source
from pincite.tasks.steps.plan import policy_of
from tests.storage.building import (
    LEASE_S,
    PERMANENT,
    POLICY,
    SPACE,
    TRANSIENT,
    fill,
    found,
    reindex,
)

ROOT = Path(__file__).resolve().parents[3]

# One run, as the flow does it: suspects one at a time, then two at once. A document "kills" ends the whole process.
KILLED = """
import os, signal, sys
from pathlib import Path
from pincite.storage.runs.commit import lease, publish
from pincite.storage.snapshots.index import Index
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.tasks.discover import discover
from tests.storage.building import POLICY, SPACE, finished
index, source = map(Path, sys.argv[1:])
with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", str(source)) as run:
    registered = discover(run, POLICY)
    groups = [[one] for one in registered.pending[:registered.alone]]
    rest = registered.pending[registered.alone:]
    groups += [rest[n:n + 2] for n in range(0, len(rest), 2)]
    for group in groups:
        jobs = [lease(run, one, POLICY, 3600) for one in group]
        texts = [Path(job.absolute).read_text() for job in jobs]
        if "kills" in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        publish(run, [finished(job, text) for job, text in zip(jobs, texts)], POLICY)
    finish_run(run)
"""


def run(index: Path, source: Path) -> int:
    return subprocess.run(
        [sys.executable, "-c", KILLED, str(index), str(source)], cwd=ROOT, check=False
    ).returncode


def outcomes(index: Path) -> dict[str, list[tuple[int, str]]]:
    with Index.open(index) as opened:
        history = attempt_history(opened)
        return {
            one.path: [(made.attempt, made.outcome) for made in history.get(one.document_id, ())]
            for one in document_reports(opened, None)
        }


def test_a_document_that_kills_every_run_is_set_aside_and_no_other_is_blamed(
    index: Path, source: Path
) -> None:
    fill(source, {"a.txt": "first", "b.txt": "kills", "c.txt": "third", "d.txt": "fourth"})
    killed = -signal.SIGKILL
    assert [run(index, source) for _ in range(5)] == [killed, killed, killed, killed, 0]
    assert outcomes(index) == {
        "a.txt": [(1, "lost"), (2, "indexed")],
        "b.txt": [(1, "lost"), (2, "lost"), (3, "lost"), (4, "lost")],
        "c.txt": [(1, "indexed")],
        "d.txt": [(1, "indexed")],
    }
    with Index.open(index) as opened:
        (report,) = document_reports(opened, None, "failed")
        assert (report.path, report.stage, report.kind) == ("b.txt", "run", "lost")
        assert report.reason == "its run ended while it was worked on, 4 times in a row"
        assert report.transient, "whoever killed the runs may not have meant it"
        assert all(check.ok for check in verify(opened))
    assert found(index) == {"a.txt": ["first"], "c.txt": ["third"], "d.txt": ["fourth"]}
    assert run(index, source) == 0, "it stays aside"


def test_a_document_is_tried_alone_before_it_is_blamed_however_few_attempts_are_left(
    index: Path, source: Path
) -> None:
    fill(source, {"a.txt": "kills"})
    once = replace(POLICY, attempts=1)
    assert run(index, source) == -signal.SIGKILL
    assert reindex(index, source, once) == Counts(1, indexed=1), "it was handed out once more"


def test_a_mended_document_is_tried_again(index: Path, source: Path) -> None:
    fill(source, {"b.txt": "kills"})
    assert [run(index, source) for _ in range(5)][-1] == 0
    (source / "b.txt").write_text("mended")
    assert run(index, source) == 0
    assert found(index)["b.txt"] == ["mended"]


def test_a_run_that_ends_by_an_exception_blames_no_document(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "first"})
    for _ in range(4):
        with (
            pytest.raises(KeyboardInterrupt),
            Index.create(index, SPACE) as opened,
            begin_run(opened, "reindex", str(source)) as broken,
        ):
            assert lease(broken, discover(broken, POLICY).pending[0], POLICY, LEASE_S) is not None
            raise KeyboardInterrupt
    with Index.open(index) as opened:
        (report,) = document_reports(opened, None)
    assert (report.state, report.attempts, report.kind) == ("pending", 0, None)
    assert reindex(index, source) == Counts(1, indexed=1)


def test_a_scheduled_run_waits_and_a_person_does_not(index: Path, source: Path) -> None:
    fill(source, {"a.txt": TRANSIENT})
    reindex(index, source)
    with Index.open(index) as opened:
        (report,) = document_reports(opened, None)
        assert report.not_before is not None
        wait = report.not_before - time.time()
        assert FIRST_WAIT_S * 0.9 < wait < FIRST_WAIT_S * 1.3
        one = Collection("source", str(source))
        files = look(open_source(one, index, Limits()), known_files(opened, str(source)))
        for now, idle in ((time.time(), True), (report.not_before, False), (None, False)):
            assert is_idle(opened, str(source), files, replace(POLICY, now=now)) == idle
        assert settle_if_idle(opened, one, replace(POLICY, now=time.time())) == Counts(1, failed=1)
    (source / "a.txt").write_text("mended")
    assert reindex(index, source, replace(POLICY, now=time.time())) == Counts(1, indexed=1)
    with Index.open(index) as opened:
        assert document_reports(opened, None)[0].not_before is None


@pytest.mark.parametrize("text", [TRANSIENT, PERMANENT])
@pytest.mark.parametrize("what", ["the file", "the extractors", "the limits", "a parser"])
def test_what_changed_gives_a_document_past_its_limit_new_attempts_and_keeps_their_history(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch, text: str, what: str
) -> None:
    fill(source, {"a.txt": text})
    policy = replace(policy_of(Settings()), now=time.time())
    spent = POLICY.attempts if text == TRANSIENT else 1
    for nth in range(spent):
        reindex(index, source, replace(policy, now=time.time() + nth * 2 * LONGEST_WAIT_S))
    later = replace(policy, now=time.time() + 10 * LONGEST_WAIT_S)
    assert reindex(index, source, later) == Counts(1, failed=1)
    before = [(nth + 1, "failed") for nth in range(spent)]
    assert outcomes(index) == {"a.txt": before}, "it is at its limit"

    if what == "the file":
        (source / "a.txt").write_text(f"{text}, and more")
    elif what == "the limits":
        policy = policy_of(replace(Settings(), limits=Limits(pages=6_000)))
    else:
        if what == "the extractors":
            other = replace(formats()["html"], version="other")
            monkeypatch.setattr(stamps, "formats", lambda: {**formats(), "html": other})
        else:
            release = stamps._release
            monkeypatch.setattr(stamps, "_release", lambda parser: f"{release(parser)}.post1")
        extractors_digest.cache_clear()
        policy = policy_of(Settings())
        extractors_digest.cache_clear()
    night = replace(policy, now=time.time())
    assert reindex(index, source, night) == Counts(1, failed=1), (
        "no wait of the former failures holds it back"
    )
    assert outcomes(index) == {"a.txt": [*before, (1, "failed")]}
    with Index.open(index) as opened:
        (report,) = document_reports(opened, None)
    assert report.attempts == 1
    if text == TRANSIENT:
        assert report.not_before is not None and report.not_before < time.time() + 2 * FIRST_WAIT_S


def test_a_permanent_failure_has_no_next_attempt(index: Path, source: Path) -> None:
    fill(source, {"a.txt": PERMANENT})
    reindex(index, source)
    with Index.open(index) as opened:
        assert document_reports(opened, None)[0].not_before is None


def test_the_waits_double_to_a_day_and_differ_by_document() -> None:
    waits = [wait_s("document", attempt) for attempt in range(1, 40)]
    assert FIRST_WAIT_S <= waits[0] <= 1.25 * FIRST_WAIT_S
    assert all(1.5 < later / earlier < 2.6 for earlier, later in itertools.pairwise(waits[:7]))
    assert max(waits) == LONGEST_WAIT_S == waits[-1]
    assert len({wait_s(str(n), 1) for n in range(100)}) == 100
    assert wait_s("document", 1) == waits[0]


def test_every_kind_of_failure_has_an_outlook_with_its_reason_and_remedy() -> None:
    kinds = {one.kind for one in DocumentError.__subclasses__()}
    for kind in kinds | {"deadline", "memory limit", "lost", "unfit", "waived"}:
        assert outlook_of(kind).why and outlook_of(kind) != outlook_of("ZeroDivisionError"), kind
        assert remedy_of(kind).endswith("."), kind
    assert not Encrypted("x").transient and SourceChanged("x").transient
    assert outlook_of("ZeroDivisionError").transient and not outlook_of("unsupported").transient


def test_the_digest_of_the_extractors_is_the_same_twice() -> None:
    before = extractors_digest()
    extractors_digest.cache_clear()
    assert extractors_digest() == before
