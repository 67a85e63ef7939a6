"""Sessions: who a browser is, kept in a signed cookie, and the token that its writes must bring.

The cookie is `role.expires.nonce.signature`. Its key is made from the tokens and from a secret of the index
(`http.session_store`): a server that was started again knows its sessions, another token ends all of them, and
signing out ends one, with every copy of its cookie. Without a token (loopback) a session only ties the writes of a
page to the browser that opened it.
"""

import hashlib
import hmac
import ipaddress
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from pincite.dashboard.http.session_store import SessionStore

LASTS_S = 12 * 3600
LONGEST_COOKIE = 300

Role = Literal["anonymous", "viewer", "operator"]
"""anonymous may only sign in; viewer reads, searches and asks; operator also starts, uploads and cancels."""


@dataclass(frozen=True, slots=True)
class Session:
    role: Role
    expires: int  # seconds since the epoch
    nonce: str


class Sessions:
    """Makes and reads cookies."""

    def __init__(self, tokens: Mapping[Role, str], store: SessionStore) -> None:
        """`tokens` that are not ""; empty where none is asked for."""
        self._tokens = dict(tokens)
        self._store = store
        secret = "\0".join(f"{role}={token}" for role, token in sorted(tokens.items()))
        self._key = hmac.digest(store.key, f"pincite session 2\0{secret}".encode(), "sha256")
        # Ports of one address share their cookies: another server's session keeps its own name.
        self.cookie = f"pincite_{hashlib.sha256(self._key).hexdigest()[:8]}"
        self.secured = bool(tokens)

    def role_of(self, token: str) -> Role | None:
        """Whose token it is; each is compared in the same time, whatever was given."""
        given = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        found: Role | None = None
        for role, known in sorted(self._tokens.items()):
            if hmac.compare_digest(given, hashlib.sha256(known.encode()).digest()):
                found = role
        return found

    def begin(self, role: Role, now: float) -> tuple[Session, str]:
        """A new session and its cookie."""
        began = Session(role, int(now) + LASTS_S, secrets.token_urlsafe(18))
        signed = f"{role}.{began.expires}.{began.nonce}"
        return began, f"{signed}.{self._sign('cookie', signed)}"

    def read(self, cookie: str, now: float) -> Session | None:
        """The session of a cookie; None when it is not ours, was changed, was ended or is over."""
        if not cookie:
            return None
        signed, _, signature = cookie[:LONGEST_COOKIE].rpartition(".")
        if not hmac.compare_digest(
            signature.encode("utf-8", "replace"), self._sign("cookie", signed).encode()
        ):
            return None
        role, expires, nonce = signed.split(".")
        if int(expires) < now or self._store.is_ended(nonce, int(expires)):
            return None
        return next((Session(one, int(expires), nonce) for one in get_args(Role) if one == role), None)

    def end(self, session: Session) -> None:
        """Signs it out: no copy of its cookie is a session any more."""
        self._store.end(session.nonce, session.expires)

    def csrf(self, session: Session) -> str:
        """The token that each write of this session brings."""
        return self._sign("csrf", session.nonce)

    def is_csrf(self, session: Session, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.csrf(session).encode())

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.digest(self._key, f"{purpose}:{text}".encode("utf-8", "replace"), "sha256").hex()


class Rate:
    """At most `most` events in `within_s` seconds for each key; the least recent of 10,000 keys is forgotten."""

    _KEYS = 10_000

    def __init__(self, most: int, within_s: float) -> None:
        self.most = most
        self.within_s = within_s
        self._events: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_s(self, key: str, now: float) -> float:
        """0 when the event may happen, which counts it; else the seconds until it may."""
        key = _network(key)
        with self._lock:
            events = self._events.setdefault(key, deque())
            self._events.move_to_end(key)
            while events and events[0] <= now - self.within_s:
                events.popleft()
            if len(events) >= self.most:
                return events[0] + self.within_s - now
            events.append(now)
            while len(self._events) > self._KEYS:
                self._events.popitem(last=False)
            return 0.0


def _network(address: str) -> str:
    """The address of a client; of IPv6 the network of 64 bits, all of which one client may have."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else address
