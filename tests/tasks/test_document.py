"""One document from lease to outcome, with stages that fail where real ones did."""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.encoders.models import resolve_model
from pincite.schemas.errors import Failure
from pincite.schemas.settings import Settings
from pincite.storage.queries.index_report import DocumentReport, document_reports
from pincite.storage.runs.commit import lease
from pincite.storage.runs.runs import Run, begin_run, finish_run
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import discover
from pincite.tasks.document import IndexingContext, _finish, index_document
from pincite.tasks.sandbox.pool import StageFailed
from pincite.tasks.steps import publish as publish_module
from pincite.tasks.steps.observe import StageTimes
from pincite.tasks.steps.plan import policy_of, space_of
from pincite.tasks.steps.prepare import prepare
from pincite.tasks.steps.publish import Publisher

MODEL = resolve_model("all-MiniLM-L6-v2")
SETTINGS = Settings()
POLICY = policy_of(SETTINGS)


class Here:
    """A pool whose stages run in this process; `failures` come first, one a call."""

    def __init__(self, *failures: Failure) -> None:
        self._failures = list(failures)

    def run(self, stage: str, payload: Any, deadline_s: float, told: Any) -> Any:
        told(stage, None)
        if self._failures:
            raise StageFailed(self._failures.pop(0))
        if stage == "prepare":
            return prepare(payload, lambda _stage, _page: None)
        seeds = [int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) for text in payload.texts]
        vectors = np.array([np.random.default_rng(seed).normal(size=MODEL.dimension) for seed in seeds])
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("The pump hums.")
    (docs / "b.txt").write_text("The seal leaks.")
    with Index.create(tmp_path / "index", space_of(MODEL, SETTINGS)) as opened:
        yield opened


def run_all(index: Index, embedding: Here, tmp_path: Path, before_publish: Any = None) -> list[str]:
    with begin_run(index, "reindex", str(tmp_path / "docs")) as run:
        registered = discover(run, POLICY)
        publisher = Publisher(run, POLICY)
        line = IndexingContext(run, POLICY, SETTINGS, MODEL, Here(), embedding, publisher)  # type: ignore[arg-type]  # doubles
        if before_publish:
            before_publish(run, registered.pending)
        outcomes = [index_document(line, document_id) for document_id in registered.pending]
        finish_run(run)
    return outcomes


def states(index: Index) -> dict[str, DocumentReport]:
    return {report.path: report for report in document_reports(index, POLICY.recipe)}


def test_an_embedder_that_raises_once_is_tried_by_the_next_run(index: Index, tmp_path: Path) -> None:
    once = Here(Failure("embed", "RuntimeError", "RuntimeError: out of luck", transient=True))
    assert run_all(index, once, tmp_path) == ["failed", "indexed"]
    assert states(index)["a.txt"].reason == "RuntimeError: out of luck"
    assert run_all(index, Here(), tmp_path) == ["indexed"]
    assert {report.state for report in states(index).values()} == {"indexed"}


def test_a_failure_that_will_not_pass_is_not_tried_again(index: Index, tmp_path: Path) -> None:
    permanent = Here(Failure("embed", "invariant", "not finite"))
    assert run_all(index, permanent, tmp_path) == ["failed", "indexed"]
    assert run_all(index, Here(), tmp_path) == []


def test_a_document_that_another_run_took_is_left_alone(index: Index, tmp_path: Path) -> None:
    def overtaken(run: Run, pending: tuple[str, ...]) -> None:
        with index.engine.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE documents SET state = 'indexed', last_outcome = 'unchanged' WHERE document_id = ?",
                (pending[0],),
            )

    assert run_all(index, Here(), tmp_path, overtaken) == ["superseded", "indexed"]


def test_an_exception_that_nobody_foresaw_counts_as_an_attempt_of_its_document(
    index: Index, tmp_path: Path
) -> None:
    class Odd(Here):
        def run(self, stage: str, payload: Any, deadline_s: float, told: Any) -> Any:
            if any("hums" in text for text in payload.texts):
                raise OSError("got end of file during message")
            return super().run(stage, payload, deadline_s, told)

    assert run_all(index, Odd(), tmp_path) == ["failed", "indexed"]
    report = states(index)["a.txt"]
    assert (report.state, report.reason) == ("failed", "OSError: got end of file during message")
    with index.engine.connect() as connection:
        query = "SELECT attempts, transient FROM documents WHERE path = 'a.txt'"
        assert connection.exec_driver_sql(query).one() == (1, 1)


def test_a_commit_that_fails_for_one_document_fails_that_one_alone(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = publish_module.publish

    def fussy(run: Run, finished: Any, *more: Any) -> frozenset[str]:
        if any(one.job.path == "a.txt" for one in finished):
            raise RuntimeError("a row that nobody foresaw")
        return real(run, finished, *more)

    monkeypatch.setattr(publish_module, "publish", fussy)
    with begin_run(index, "reindex", str(tmp_path / "docs")) as run, ThreadPoolExecutor(2) as threads:
        registered = discover(run, POLICY)
        publisher = Publisher(run, POLICY)
        publisher.expect(2)  # so that both are of one group
        line = IndexingContext(run, POLICY, SETTINGS, MODEL, Here(), Here(), publisher)  # type: ignore[arg-type]
        outcomes = list(threads.map(lambda one: index_document(line, one), registered.pending))
        finish_run(run)
    assert outcomes == ["failed", "indexed"]
    assert states(index)["a.txt"].reason == "RuntimeError: a row that nobody foresaw"


def test_waiting_for_a_free_child_costs_a_document_nothing(index: Index, tmp_path: Path) -> None:
    seen: list[float] = []

    class Busy(Here):
        def run(self, stage: str, payload: Any, deadline_s: float, told: Any) -> Any:
            clock.pass_s(1_000.0)  # until a child is free
            if stage == "embed":
                seen.append(deadline_s)
            told(stage, None)
            clock.pass_s(4.0)
            return super().run(stage, payload, deadline_s, told)

    clock = Clock()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pincite.tasks.document.time.monotonic", clock)
        with begin_run(index, "reindex", str(tmp_path / "docs")) as run:
            registered = discover(run, POLICY)
            busy = Busy()
            line = IndexingContext(run, POLICY, SETTINGS, MODEL, busy, busy, Publisher(run, POLICY))  # type: ignore[arg-type]
            job = lease(run, registered.pending[0], POLICY, 600.0)
            assert job is not None
            _finish(line, job, StageTimes())
    assert seen == [SETTINGS.limits.deadline_s - 4.0]


class Clock:
    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        return self._now

    def pass_s(self, seconds: float) -> None:
        self._now += seconds
