"""Who may ask, and from where; `pincite.dashboard.http.guard` checks it before any endpoint sees a request.

On a loopback address no token is needed, and the Host header must name this machine: a page of another site that lets
its name point here (DNS rebinding) is refused. Any other address needs a token, which programs send with each request
and a browser once, for a session (`http.sessions`). There is no CORS: no other site's page may read an answer,
and none may send one of its own requests (Origin); a write from a page needs the token of its session (CSRF).
"""

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from pincite.dashboard.http.session_store import SessionStore
from pincite.dashboard.http.sessions import Role, Sessions
from pincite.schemas.errors import UsageError

TOKEN_VARIABLE = "PINCITE_TOKEN"
VIEWER_VARIABLE = "PINCITE_VIEWER_TOKEN"
SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask. `names`: host names by which the server is known; `token`: "" where none is asked for."""

    names: frozenset[str]
    token: str = ""  # of an operator
    anywhere: bool = (
        False  # bound to more than loopback: any address of this machine may be in the Host header
    )
    viewer_token: str = ""  # of who may only read; "" where there is none

    def __repr__(self) -> str:  # a token must not reach a traceback
        return (
            f"Access(names={sorted(self.names)}, token={'…' if self.token else ''}, anywhere={self.anywhere}, "
            f"viewer_token={'…' if self.viewer_token else ''})"
        )

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server."""
        name = host.casefold()
        if not name.endswith("]"):
            head, colon, port = name.rpartition(":")
            name = head if colon and port.isdigit() else name
        address = _address(name)
        if address is None:
            return name in self.names
        return address.is_loopback or self.anywhere

    def sessions(self, store: SessionStore) -> Sessions:
        tokens: dict[Role, str] = {"operator": self.token, "viewer": self.viewer_token}
        return Sessions({role: token for role, token in tokens.items() if token}, store)


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Principal:
    """Who sent a request. `csrf` is the token for writes of a page; "" of a program that sent its own token.

    `lasts()` says whether the session, if it has one, still goes on: a stream that outlives it must end.
    """

    role: Role
    csrf: str = ""
    secured: bool = False  # whether this server asks for a token
    lasts: Callable[[], bool] = _always


def access_of(host: str, token: str, names: Iterable[str] = (), viewer_token: str = "") -> Access:
    """Who may ask a server bound to `host`. Raises `UsageError` for an address beyond loopback without a token."""
    _check_token(TOKEN_VARIABLE, token)
    _check_token(VIEWER_VARIABLE, viewer_token)
    if viewer_token and viewer_token == token:
        raise UsageError(f"{VIEWER_VARIABLE} is the same as {TOKEN_VARIABLE}: set another")
    if viewer_token and not token:
        raise UsageError(f"{VIEWER_VARIABLE} needs {TOKEN_VARIABLE} too: set the token of an operator")
    local = _is_loopback(host)
    if not local and not token:
        raise UsageError(
            f"{host} can be reached by others, and what is indexed with it: set {TOKEN_VARIABLE} to a token that "
            "they must send, or serve on 127.0.0.1"
        )
    known = {"localhost", host.casefold(), *(name.casefold() for name in names)}
    return Access(frozenset(known), token, anywhere=not local, viewer_token=viewer_token)


def _check_token(variable: str, token: str) -> None:
    if token and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise UsageError(
            f"{variable} is no token: at least {SHORTEST_TOKEN} printable ASCII characters, for example of "
            "`openssl rand -hex 32`"
        )
    if any(character.isspace() for character in token):
        raise UsageError(f"{variable} holds white space: set it again without")


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host.casefold() == "localhost" if address is None else address.is_loopback


@lru_cache(maxsize=64)  # who asks again names the same host
def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
