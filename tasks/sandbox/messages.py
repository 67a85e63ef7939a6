"""Messages between a run and its child, in both directions: data of declared types, never code.

A frame is the length and the CRC-32 of its body (two unsigned 32-bit numbers, big-endian), then the body: MessagePack
of one of the records below. What a stage takes and gives is checked against the annotations of its function when it
arrives, since a child may have been taken over by what it parses. A stage without annotations takes and gives plain
data, or one record of `pincite.schemas.records`.
"""

import dataclasses
import math
import os
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Annotated, Any, get_type_hints

import msgspec
import numpy as np

from pincite.schemas import records
from pincite.schemas.counting import counted
from pincite.schemas.errors import Failure

MOST_BYTES = 512 << 20
"""Of one message. A text of 60 MB, which is about what fits the memory of a child, is 250 MiB when prepared."""

_HEADER = struct.Struct("!II")
_LONGEST_REASON = 4_000
_Word = Annotated[str, msgspec.Meta(max_length=200)]
_PageNumber = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class Garbled(Exception):
    """What arrived is no message; the words say why."""


class Call(msgspec.Struct, frozen=True, array_like=True):
    """What a child is to do. `number` comes back with each answer to it."""

    number: int
    stage: str
    deadline_s: float
    record: str
    payload: msgspec.Raw


class Progress(msgspec.Struct, frozen=True, array_like=True, tag="at"):
    """The child begins with a stage or a page."""

    number: int
    stage: _Word
    page: _PageNumber | None


class Done(msgspec.Struct, frozen=True, array_like=True, tag="done"):
    """The result of a call, which `result_of` reads."""

    number: int
    record: _Word
    result: msgspec.Raw


class Failed(msgspec.Struct, frozen=True, array_like=True, tag="failed"):
    """Why there is no result: a `Failure` by its parts."""

    number: int
    stage: _Word
    kind: _Word
    reason: Annotated[str, msgspec.Meta(max_length=_LONGEST_REASON)]
    page: _PageNumber | None
    transient: bool

    @classmethod
    def of(cls, number: int, failure: Failure) -> "Failed":
        reason = failure.reason.encode("utf-8", "backslashreplace").decode()[:_LONGEST_REASON]
        return cls(number, failure.stage, failure.kind, reason, failure.page, failure.transient)

    def failure(self) -> Failure:
        return Failure(self.stage, self.kind, self.reason, self.page, self.transient)


Answer = Progress | Done | Failed


def called(number: int, stage: str, payload: object, deadline_s: float) -> Call:
    return Call(number, stage, deadline_s, _record_name(payload), msgspec.Raw(_encoder.encode(payload)))


def done(number: int, result: object) -> Done:
    """Raises `TypeError`, `ValueError` or `OverflowError` for a result that is no data."""
    return Done(number, _record_name(result), msgspec.Raw(_encoder.encode(result)))


def payload_of(call: Call, function: Callable[..., Any]) -> Any:
    """What the stage is given, of the type of its first parameter."""
    hints = get_type_hints(function)
    hints.pop("return", None)
    return _decoded(call.payload, next(iter(hints.values()), Any), call.record)


def result_of(answer: Done, function: Callable[..., Any]) -> Any:
    """The result, of the type that the stage's function declares. Raises `Garbled` when it is not."""
    return _decoded(answer.result, get_type_hints(function).get("return", Any), answer.record)


def frame(message: msgspec.Struct) -> bytes:
    """The bytes of a message. Raises `OverflowError` for one that is too long."""
    body = _encoder.encode(message)
    if len(body) > MOST_BYTES:
        raise OverflowError(
            f"{len(body) / 2**20:.0f} MiB are more than the {MOST_BYTES / 2**20:g} MiB of a message"
        )
    return _HEADER.pack(len(body), zlib.crc32(body)) + body


class Frames:
    """Takes bytes as they come and gives the bodies that are whole."""

    def __init__(self) -> None:
        self._held = bytearray()

    @property
    def begun(self) -> bool:
        """Whether a part of a frame is held."""
        return bool(self._held)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Raises `Garbled` for a frame that is too long or whose sum is wrong."""
        self._held += data
        while len(self._held) >= _HEADER.size:
            length, checksum = _HEADER.unpack_from(self._held)
            if length > MOST_BYTES:
                raise Garbled(f"it announces {counted(length, 'byte')}")
            end = _HEADER.size + length
            if len(self._held) < end:
                return
            body = bytes(memoryview(self._held)[_HEADER.size : end])
            del self._held[:end]
            if zlib.crc32(body) != checksum:
                raise Garbled("its sum is wrong")
            yield body


def answer_in(body: bytes, number: int) -> Answer:
    """The answer to the call of this number. Raises `Garbled` for anything else."""
    answer: Answer = _guarded(lambda: _answers.decode(body))
    if answer.number != number:
        raise Garbled("it answers another call")
    return answer


def receive_call(pipe: socket.socket) -> Call | None:
    """The next call; None when the parent hung up. For the child, which may wait for ever."""
    header = _exactly(pipe, _HEADER.size)
    if header is None:
        return None
    body = _exactly(pipe, _HEADER.unpack(header)[0])
    return None if body is None else _calls.decode(body)


def _exactly(pipe: socket.socket, size_bytes: int) -> bytes | None:
    held = bytearray()
    while len(held) < size_bytes:
        try:
            data = pipe.recv(min(size_bytes - len(held), 1 << 20))
        except ConnectionError:
            return None
        if not data:
            return None
        held += data
    return bytes(held)


def _guarded(decode: Callable[[], Any]) -> Any:
    try:
        return decode()
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise Garbled(str(error)) from error


def _decoded(raw: msgspec.Raw, wanted: Any, record: str) -> Any:
    if wanted in (Any, object):
        wanted = _record_type(record)
    return _guarded(lambda: msgspec.msgpack.decode(raw, type=wanted, dec_hook=_from_data))


def _record_name(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == records.__name__ and dataclasses.is_dataclass(kind) else ""


def _record_type(name: str) -> Any:
    found = getattr(records, name, None) if name else Any
    if found is not Any and not dataclasses.is_dataclass(found):
        raise Garbled(f"there is no record {name!r}")
    return found


def _as_data(value: object) -> object:
    match value:
        case np.ndarray():
            return [value.dtype.str, list(value.shape), np.ascontiguousarray(value).tobytes()]
        case np.generic():
            return value.item()
        case PurePath():
            return os.fsencode(value)
        case str():  # a subclass, as lxml has one
            return str.__str__(value)
    raise TypeError(f"{type(value).__name__} is no data")


def _from_data(wanted: type, value: Any) -> object:
    if wanted is np.ndarray:
        return _array(*value)
    if issubclass(wanted, PurePath):
        return Path(os.fsdecode(value))
    raise TypeError(f"{wanted.__name__} is no data")


def _array(dtype: str, shape: list[int], data: bytes) -> np.ndarray:
    """float32, of at most two dimensions: no other arrays are sent."""
    if dtype != "<f4" or len(shape) > 2 or min(shape, default=0) < 0 or len(data) != 4 * math.prod(shape):
        raise ValueError(f"no array of {dtype} {shape} has {counted(len(data), 'byte')}")
    return np.frombuffer(data, dtype=dtype).reshape(shape).copy()


_encoder = msgspec.msgpack.Encoder(enc_hook=_as_data)
_answers: "msgspec.msgpack.Decoder[Answer]" = msgspec.msgpack.Decoder(Answer)
_calls = msgspec.msgpack.Decoder(Call)
