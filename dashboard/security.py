"""Who may ask, from where, and how much: checked before any endpoint sees a request.

On a loopback address no token is needed, and the Host header must name this machine: a page of another site that lets
its name point here (DNS rebinding) is refused. Any other address needs a token. There is no CORS: no other site's
page may read an answer, and none may send one of its own requests (Origin).
"""

import asyncio
import hmac
import ipaddress
from collections import deque
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.problems import http_problem, response_of
from schemas.errors import UsageError

TOKEN_VARIABLE = "PINCITE_TOKEN"
SHORTEST_TOKEN = 16
OPEN_PATHS = frozenset({"/healthz"})  # say nothing but that the server runs
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every response that does not set its own."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask. `names`: host names by which the server is known; `token`: "" where none is asked for."""

    names: frozenset[str]
    token: str = ""
    anywhere: bool = (
        False  # bound to more than loopback: any address of this machine may be in the Host header
    )

    def __repr__(self) -> str:  # a token must not reach a traceback
        return (
            f"Access(names={sorted(self.names)}, token={'…' if self.token else ''}, anywhere={self.anywhere})"
        )


def access_of(host: str, token: str, names: Iterable[str] = ()) -> Access:
    """Who may ask a server bound to `host`. Raises `UsageError` for an address beyond loopback without a token."""
    if token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise UsageError(
            f"{TOKEN_VARIABLE} is no token: at least {SHORTEST_TOKEN} printable ASCII characters, for example of "
            "`openssl rand -hex 32`"
        )
    if any(character.isspace() for character in token):
        raise UsageError(f"{TOKEN_VARIABLE} holds white space: set it again without")
    local = _is_loopback(host)
    if not local and not token:
        raise UsageError(
            f"{host} can be reached by others, and what is indexed with it: set {TOKEN_VARIABLE} to a token that "
            "they must send, or serve on 127.0.0.1"
        )
    known = {"localhost", host.casefold(), *(name.casefold() for name in names)}
    return Access(frozenset(known), token, anywhere=not local)


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host.casefold() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class BodyLimits:
    size_bytes: int = 256 << 10
    timeout_s: float = 15.0  # for the whole body to arrive


class Guard:
    """ASGI middleware around everything: refuses, reads the body within its limits, sets the headers."""

    def __init__(self, app: ASGIApp, access: Access, limits: BodyLimits) -> None:
        self._app = app
        self._access = access
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = _with_headers(send)
        refused = self._refused(scope)
        messages: deque[Message] = deque()
        if refused is None:
            try:
                async with asyncio.timeout(self._limits.timeout_s):
                    refused = await self._read(scope, receive, messages)
            except TimeoutError:
                refused = (408, f"the body did not arrive within {self._limits.timeout_s:g} s")
        if refused is not None:
            status, reason = refused
            more = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
            if status in (408, 413):
                more["Connection"] = "close"  # what is left of the body is not read
            await response_of(http_problem(status, reason), more)(scope, receive, guarded)
            return

        async def replay() -> Message:
            return messages.popleft() if messages else await receive()

        await self._app(scope, replay, guarded)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host):
            return 421, "the Host header names another server: it is not known by that name"
        if scope["path"] not in OPEN_PATHS and not self._has_token(headers):
            return 401, "a token is needed"
        origin = headers.get("origin")
        if scope["method"] not in ("GET", "HEAD") and origin is not None:
            try:
                same = urlsplit(origin).netloc.casefold() == host.casefold()
            except ValueError:
                same = False
            if not same:
                return 403, "a page of another site sent this request"
        return None

    def _is_ours(self, host: str) -> bool:
        name = host.casefold()
        if not name.endswith("]"):
            head, colon, port = name.rpartition(":")
            name = head if colon and port.isdigit() else name
        address = _address(name)
        if address is None:
            return name in self._access.names
        return address.is_loopback or self._access.anywhere

    def _has_token(self, headers: Headers) -> bool:
        if not self._access.token:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), self._access.token.encode())
        return scheme.casefold() == "bearer" and same

    async def _read(self, scope: Scope, receive: Receive, messages: deque[Message]) -> tuple[int, str] | None:
        most = self._limits.size_bytes
        said = f"the body is larger than {most:,} bytes"
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdigit() or int(length) > most:
            return 413, said
        taken = 0
        while True:
            message = await receive()
            messages.append(message)
            taken += len(message.get("body", b""))
            if taken > most:
                return 413, said
            if message["type"] != "http.request" or not message.get("more_body", False):
                return None


def _with_headers(send: Send) -> Send:
    async def guarded(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return guarded
