"""What a child says is data of the declared type, or the end of its document alone."""

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pincite.encoders.models import name_of, resolve_model
from pincite.schemas.records import Block, Chunk, DocumentWarning, Extraction, Job, Page, Prepared
from pincite.schemas.settings import Settings
from pincite.tasks.sandbox import worker as worker_module
from pincite.tasks.sandbox.messages import (
    Done,
    Frames,
    Garbled,
    answer_in,
    called,
    done,
    frame,
    payload_of,
    result_of,
)
from pincite.tasks.sandbox.pool import StageFailed, Worker, tagged_processes
from pincite.tasks.steps.embed import EmbedOrder, embed
from pincite.tasks.steps.prepare import PrepareRequest, prepare

MEMORY_BYTES = 300 << 20
EVIL = "tests.doubles.evil_stages:"
DOUBLE = "tests.doubles.faults:double"
MODEL = resolve_model("all-MiniLM-L6-v2")


@pytest.fixture(scope="module")
def shared() -> Iterator[Worker]:
    worker = Worker(MEMORY_BYTES, uuid.uuid4().hex)
    yield worker
    worker.kill()


def ended(worker: Worker, stage: str, payload: object = None, deadline_s: float = 30.0) -> tuple[str, str]:
    """(kind, reason), and the next document works."""
    with pytest.raises(StageFailed) as caught:
        worker.run(f"{EVIL}{stage}", payload, deadline_s)
    assert worker.run(DOUBLE, 4, 60) == 8
    return caught.value.failure.kind, caught.value.failure.reason


def test_a_child_can_not_make_its_parent_run_code(
    shared: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ended(shared, "returns_code") == (
        "invariant",
        f"what the {EVIL}returns_code stage gave can't be sent: Payload is no data",
    )
    assert ended(shared, "writes_pickle")[0] == "crashed"
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 20])
@pytest.mark.parametrize(("then", "kind"), [("killed", "crashed"), ("stops", "deadline")])
def test_a_child_that_ends_or_stops_at_any_byte_ends_its_document_alone(
    shared: Worker, size: int, then: str, kind: str
) -> None:
    deadline_s = 60.0 if then == "killed" else 0.5
    assert ended(shared, "says_part", (size, then), deadline_s)[0] == kind


def test_what_is_no_answer_ends_its_document_alone(shared: Worker) -> None:
    assert ended(shared, "says_part", (9, "garbled"))[0] == "crashed"
    assert ended(shared, "announces", 2**31) == (
        "crashed",
        f"the process of the {EVIL}announces stage gave what is no answer: it announces 2,147,483,648 bytes",
    )
    kind, reason = ended(shared, "says_another_type")
    assert kind == "crashed" and "Expected `str`, got `int` - at `$.title`" in reason


def test_a_child_that_talks_or_writes_without_end_is_ended(
    shared: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ended(shared, "talks_without_end", deadline_s=1.0)[0] == "deadline"
    monkeypatch.setattr(worker_module, "_MOST_SAID_BYTES", 8 << 20)
    assert ended(shared, "writes_without_end") == ("limit", "wrote more than 8 MiB of messages")


def test_an_answer_in_advance_is_never_that_of_the_next_document() -> None:
    worker = Worker(MEMORY_BYTES, uuid.uuid4().hex)
    try:
        assert worker.run(f"{EVIL}says_all_and_more", None, 30) == "first"
        until = time.monotonic() + 60
        while worker._pipe is not None and worker._pipe.quiet():
            assert time.monotonic() < until
            time.sleep(0.01)
        assert worker.run(DOUBLE, 21, 60) == 42
    finally:
        worker.kill()


def test_a_call_that_nobody_takes_ends_at_the_deadline(family: str) -> None:
    worker = Worker(MEMORY_BYTES, family)
    try:
        worker.run(DOUBLE, 1, 60)
        (process,) = tagged_processes(family)
        process.suspend()
        with pytest.raises(StageFailed) as caught:
            worker.run(DOUBLE, "x" * (32 << 20), 1.0)
        assert caught.value.failure.kind == "deadline"
        assert worker.run(DOUBLE, 4, 60) == 8
    finally:
        worker.kill()


@pytest.fixture
def family() -> str:
    return uuid.uuid4().hex


def test_nesting_without_end_is_refused(shared: Worker) -> None:
    assert ended(shared, "nests", 100_000)[0] in ("RecursionError", "crashed")


def test_a_stage_without_annotations_gives_plain_data_or_a_record(shared: Worker) -> None:
    assert shared.run(f"{EVIL}gives_a_record", None, 30) == DocumentWarning("code", "words", 3)


ANSWER = frame(done(7, Extraction("text", "title", "text/plain", "own", "1")))


def test_no_bytes_but_the_whole_answer_are_an_answer() -> None:
    def read(data: bytes) -> list[object]:
        return [answer_in(body, 7) for body in Frames().feed(data)]

    assert len(read(ANSWER)) == 1
    assert not any(read(ANSWER[:size]) for size in range(len(ANSWER)))
    for place in range(len(ANSWER)):
        for flip in (1, 0x80):
            garbled = bytearray(ANSWER)
            garbled[place] ^= flip
            try:
                assert read(bytes(garbled)) == []  # it announces more than has come: the deadline ends it
            except Garbled:
                continue
    with pytest.raises(Garbled, match="another call"):
        answer_in(next(Frames().feed(ANSWER)), 8)


def test_an_answer_may_come_byte_by_byte() -> None:
    frames = Frames()
    bodies = [body for n in range(len(ANSWER)) for body in frames.feed(ANSWER[n : n + 1])]
    answer = answer_in(bodies[0], 7)
    assert isinstance(answer, Done) and len(bodies) == 1 and not frames.begun


def test_an_array_that_claims_more_than_is_there_costs_nothing() -> None:
    began = time.process_time()
    for depth in (1, 500):
        with pytest.raises(Garbled):
            answer_in(b"\xdd\xff\xff\xff\xff" * depth, 1)
    assert time.process_time() - began < 5


def test_what_stages_take_and_give_comes_back_as_it_was() -> None:
    job = Job("id", "a/ü.txt", "/docs/ü.txt", "0" * 64, 1, 2, 3)
    request = PrepareRequest(job, Settings(extractors={".x": "a:b"}), name_of(MODEL))
    assert payload_of(called(1, "prepare", request, 1.0), prepare) == request
    order = EmbedOrder(name_of(MODEL), ("one", "two"))
    assert payload_of(called(1, "embed", order, 1.0), embed) == order
    extraction = Extraction(
        "text\0 \U0001f600",
        "",
        "text/plain",
        "own",
        "1",
        (Block("table", 0, 2),),
        pages=(Page(1, 0, 4, 1.5, 2.0),),
    )
    prepared = Prepared(extraction, (Chunk(0, "t", "t", "", "", 0, 1, 3),), ({"pump": 2},), "en")
    assert result_of(done(1, prepared), prepare) == prepared
    vectors = np.arange(12, dtype=np.float32).reshape(3, 4)
    back = result_of(done(1, vectors), embed)
    assert back.dtype == np.float32 and back.flags.writeable
    np.testing.assert_array_equal(back, vectors)
    assert result_of(done(1, np.empty((0, 384), dtype=np.float32)), embed).shape == (0, 384)


@pytest.mark.parametrize(
    "array",
    [["<f4", [2, 2], b"x"], ["<f8", [1], b"x" * 8], ["|O", [1], b"x" * 4], ["<f4", [-1, -1], b"xxxx"]],
)
def test_an_array_is_as_large_as_it_says(array: object) -> None:
    with pytest.raises(Garbled):
        result_of(done(1, array), embed)
