"""Bodies of requests within their limits: whole for all but files, which are taken piece by piece."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

_DROPPED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class BodyLimits:
    size_bytes: int = 256 << 10
    timeout_s: float = 15.0  # for the whole body to arrive
    upload_bytes: int = 512 << 20  # of a file, for what takes one
    piece_s: float = 30.0  # between two pieces of a file


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    reason: str
    headers: dict[str, str] = field(default_factory=dict)


async def read_within(
    limits: BodyLimits, headers: Headers, receive: Receive, messages: deque[Message]
) -> Refusal | None:
    """Puts the whole body into `messages`; nothing where the request has none (RFC 9112, section 6.3)."""
    if "content-length" not in headers and "transfer-encoding" not in headers:
        return None
    try:
        async with asyncio.timeout(limits.timeout_s):
            return await _read(limits.size_bytes, headers, receive, messages)
    except TimeoutError:
        return Refusal(408, f"the body did not arrive within {limits.timeout_s:g} s")


async def _read(most: int, headers: Headers, receive: Receive, messages: deque[Message]) -> Refusal | None:
    said = Refusal(413, f"the body is larger than {most:,} bytes")
    if _length(headers) > most:
        return said
    taken = 0
    while True:
        message = await receive()
        messages.append(message)
        taken += len(message.get("body", b""))
        if taken > most:
            return said
        if message["type"] != "http.request" or not message.get("more_body", False):
            return None


def limited(limits: BodyLimits, headers: Headers, receive: Receive) -> Receive:
    """The body of a file, piece by piece. What it returns raises `HTTPException` where a limit is passed."""
    most = limits.upload_bytes + (64 << 10)  # and the other fields of its form
    close = {"Connection": "close"}  # what is left of the file is not read
    too_large = HTTPException(413, f"the file is larger than {limits.upload_bytes:,} bytes", close)
    taken = 0

    async def refused() -> HTTPException:
        """What is on its way is read, or the sender would never see the answer; not without end."""
        dropped = 0
        while dropped < _DROPPED_BYTES and (message := await _piece(limits, receive)).get("more_body", False):
            dropped += len(message.get("body", b""))
        return too_large

    async def next_piece() -> Message:
        nonlocal taken
        if _length(headers) > most:
            raise await refused()
        message = await _piece(limits, receive)
        taken += len(message.get("body", b""))
        if taken > most:
            raise await refused()
        return message

    return next_piece


async def _piece(limits: BodyLimits, receive: Receive) -> Message:
    try:
        async with asyncio.timeout(limits.piece_s):
            return await receive()
    except TimeoutError as error:
        said = f"no piece of the file for {limits.piece_s:g} s"
        raise HTTPException(408, said, {"Connection": "close"}) from error


def _length(headers: Headers) -> float:
    """That the request names, in bytes; without end for what is no number."""
    length = headers.get("content-length", "0")
    return int(length) if length.isdecimal() else float("inf")
