"""Stages of a child that was taken over, or that ends or stops while it talks: they write to its pipe themselves."""

import os
import signal
import sys
import time
from typing import Any

from pincite.schemas.records import DocumentWarning, Extraction
from pincite.tasks.sandbox.child import At
from pincite.tasks.sandbox.messages import Progress, done, frame


class Payload:
    """What runs code where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("owned",)


def returns_code(_payload: object, _at: At) -> object:
    return Payload()


def writes_pickle(_payload: object, _at: At) -> None:
    import pickle

    say(frame(Progress(1, "extract", 1)) + pickle.dumps(Payload()))
    time.sleep(3600)


def says_another_type(_payload: object, _at: At) -> Extraction:
    """As an extractor of one's own that gives a number for a title."""
    return Extraction("text", 5, "text/plain", "own", "1")  # type: ignore[arg-type]


def says_part(size_then: tuple[int, str], _at: At) -> str:
    """The first bytes of an answer; then it is killed, stops, or says something else."""
    size, then = size_then
    say(frame(done(1, "the whole answer"))[:size])
    if then == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "garbled":
        say(b"\xff" * 100)
    time.sleep(3600)
    return ""


def says_all_and_more(_payload: object, _at: At) -> str:
    """Speaks again when its call is over."""
    if os.fork() == 0:
        time.sleep(0.2)
        say(frame(done(2, "forged")))
        os._exit(0)
    return "first"


def talks_without_end(_payload: object, at: At) -> None:
    while True:
        at("extract", 1)


def writes_without_end(_payload: object, _at: At) -> None:
    while True:
        os.write(2, b"x" * (1 << 20))


def nests(depth: int, _at: At) -> object:
    nested: object = ()
    for _ in range(depth):
        nested = (nested,)
    return nested


def gives_a_record(_payload, _at):  # type: ignore[no-untyped-def]  # as a user's own stage may be written
    return DocumentWarning("code", "words", 3)


def announces(size_bytes: int, _at: At) -> None:
    say(size_bytes.to_bytes(4) + b"\0" * 4)
    time.sleep(3600)


def say(data: bytes) -> None:
    pipe = int(sys.argv[1])
    while data:
        data = data[os.write(pipe, data) :]
