"""Connections: none may be held without a request for long, and no address may hold them all.

uvicorn has no time limit for a connection that sends nothing, or no whole request, and refuses everybody once so many
are open. Here those that wait too long are closed; when an address has too many, or all together have, the one that
has waited longest is closed for the new one: so whoever asks is answered, health checks too.
"""

import asyncio
import time
from asyncio import BaseTransport, Transport
from collections.abc import Iterable
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

WAIT_S = 20.0  # for a whole request, from the beginning of the connection or the end of the last answer
MOST_OF_ONE = 100  # connections of one address: a browser has six
MOST = 400  # in all: of the 1,024 files that a process may have open
_LOOK_S = 1.0


class Connections:
    """Those of one server and its event loop."""

    def __init__(self, wait_s: float = WAIT_S, most_of_one: int = MOST_OF_ONE, most: int = MOST) -> None:
        self._wait_s = wait_s
        self._most_of_one = most_of_one
        self._most = most
        self._waiting: dict[
            _Protocol, float
        ] = {}  # since when; of those at work, when they were last seen so
        self._looking: asyncio.TimerHandle | None = None

    def opened(self, one: "_Protocol") -> None:
        self._waiting[one] = time.monotonic()
        self._make_room([other for other in self._waiting if other.address == one.address], self._most_of_one)
        self._make_room(self._waiting, self._most)
        if self._looking is None:
            self._look()

    def closed(self, one: "_Protocol") -> None:
        self._waiting.pop(one, None)

    def _make_room(self, among: Iterable["_Protocol"], most: int) -> None:
        held = list(among)
        idle = sorted((one for one in held if one.idle), key=lambda one: self._waiting[one])
        for one in idle[: max(len(held) - most, 0)]:
            self._close(one)

    def _look(self) -> None:
        now = time.monotonic()
        for one in list(self._waiting):
            if not one.idle:
                self._waiting[one] = now
            elif now - self._waiting[one] > self._wait_s:
                self._close(one)
        self._looking = asyncio.get_running_loop().call_later(_LOOK_S, self._look) if self._waiting else None

    def _close(self, one: "_Protocol") -> None:
        self._waiting.pop(one, None)
        one.hang_up()


class _Protocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # one of two classes, by what is installed
    watched_by: Connections
    address = ""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if isinstance(peer, tuple) else ""
        self.watched_by.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.watched_by.closed(self)
        super().connection_lost(exc)

    @property
    def idle(self) -> bool:
        """Whether no request of it is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def hang_up(self) -> None:
        if isinstance(self.transport, Transport):
            self.transport.abort()  # what is not sent yet waits for a reader that does not read


def protocol(connections: Connections) -> type[Any]:
    """The protocol class that uvicorn is given."""
    return type("PinciteProtocol", (_Protocol,), {"watched_by": connections})
