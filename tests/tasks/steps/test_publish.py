"""What is not fit to be published is refused; what is shares its commit with others."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pincite.schemas.errors import InvariantBroken
from pincite.schemas.records import Block, Chunk, Extraction, Job, Policy, Prepared
from pincite.storage.runs.runs import Run
from pincite.storage.search_cache.prefetch import PacksAhead
from pincite.storage.segments.arrow_rows import Finished
from pincite.tasks.steps import publish as publishing
from pincite.tasks.steps.publish import Publisher, check_invariants

TEXT = "# Pump\n\nIt pumps. It hums."
EXTRACTION = Extraction(
    TEXT, "Pump", "text/markdown", "markdown", "1", blocks=(Block("heading", 0, 6, 1, "Pump"),)
)
CHUNKS = (
    Chunk(0, "[Pump]\nIt pumps.", "It pumps.", "Pump", "", 8, 17, 7),
    Chunk(1, "[Pump]\nIt hums.", "It hums.", "Pump", "", 18, 26, 7),
)
PREPARED = Prepared(EXTRACTION, CHUNKS, ({"pumps": 1}, {"hums": 1}))
UNIT = np.eye(2, 4, dtype=np.float32)


def test_what_is_whole_passes() -> None:
    check_invariants(PREPARED, UNIT, 4, whole=True)


@pytest.mark.parametrize(
    ("chunks", "vectors", "words"),
    [
        ((), np.zeros((0, 4), np.float32), "no chunks"),
        ((replace(CHUNKS[0], start=7, end=16), CHUNKS[1]), UNIT, "chunk 0 is not the slice 7 to 16"),
        (CHUNKS[:1], UNIT[:1], "no chunk holds the characters 17 to 26: 'It hums.'"),
        (CHUNKS, UNIT[:1], "2 chunks have vectors of the shape"),
        (CHUNKS, UNIT * 1.0001, "not of unit length"),
        (CHUNKS, UNIT * np.float32("nan"), "not finite"),
        ((CHUNKS[0], replace(CHUNKS[1], over_window=True)), UNIT, "chunk 1 is over the window"),
    ],
)
def test_a_broken_invariant_is_named(chunks: Sequence[Chunk], vectors: np.ndarray, words: str) -> None:
    prepared = Prepared(EXTRACTION, tuple(chunks), tuple({} for _ in chunks))
    with pytest.raises(InvariantBroken, match="not fit to be published") as caught:
        check_invariants(prepared, vectors, 4, whole=True)
    assert words in str(caught.value)


def test_a_reference_strategy_may_flag_and_leave_out() -> None:
    chunks = (replace(CHUNKS[0], over_window=True),)
    check_invariants(Prepared(EXTRACTION, chunks, ({},)), UNIT[:1], 4, whole=False)


def finished(number: int) -> Finished:
    job = Job(f"{number}", f"{number}.md", f"/{number}.md", "0" * 64, 1, 1, 1)
    return Finished(job, "Pump", PREPARED, UNIT)


class CommitDouble:
    """Stands where `storage.runs.commit.publish` stands; remembers the groups, and fails when it is told to."""

    def __init__(self, error: OSError | None = None) -> None:
        self.groups: list[int] = []
        self.error = error

    def __call__(
        self, run: Run, group: Sequence[Finished], policy: Policy, ahead: PacksAhead
    ) -> frozenset[str]:
        if self.error:
            raise self.error
        self.groups.append(len(group))
        return frozenset(one.job.document_id for one in group if one.job.document_id != "3")


def publish_all(publisher: Publisher, count: int) -> list[bool | str]:
    outcomes: list[bool | str] = [False] * count

    def one(number: int) -> None:
        try:
            outcomes[number] = publisher.publish(finished(number))
        except OSError as error:
            outcomes[number] = str(error)
        finally:
            publisher.expect(-1)

    publisher.expect(count)
    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    return outcomes


@pytest.fixture
def publisher(tmp_path: Path) -> Publisher:
    return Publisher(None, Policy("", "", 1))  # type: ignore[arg-type]  # the double takes no run


def test_documents_that_come_together_share_a_commit(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    double = CommitDouble()
    monkeypatch.setattr(publishing, "publish", double)
    outcomes = publish_all(publisher, 8)
    assert outcomes == [number != 3 for number in range(8)]
    assert sum(double.groups) == 8 and len(double.groups) <= 2


def test_a_group_is_full_by_its_chunks(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    double = CommitDouble()
    monkeypatch.setattr(publishing, "publish", double)
    monkeypatch.setattr(publishing, "LINGER_S", 60.0)
    monkeypatch.setattr(publishing, "GROUP_CHUNKS", 2)
    publisher.expect(1)  # a document that is long on its way
    assert publish_all(publisher, 1) == [True]
    assert double.groups == [1]


def test_nobody_waits_for_documents_that_are_not_coming(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "publish", CommitDouble())
    monkeypatch.setattr(publishing, "LINGER_S", 60.0)
    began = time.monotonic()
    assert publish_all(publisher, 1) == [True]
    assert time.monotonic() - began < 30


def test_an_error_of_the_commit_reaches_every_document(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "publish", CommitDouble(OSError("no space left")))
    assert publish_all(publisher, 3) == ["no space left"] * 3
