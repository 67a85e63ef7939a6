"""Guard: ASGI middleware around everything, which refuses before an endpoint sees a request.

Host name → who it is, wrong tokens at a rate → Origin → role → rate → body within its limits → CSRF token → endpoint
→ headers
"""

import re
import time
from collections import deque
from collections.abc import MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.dashboard.http.access import Access, Principal
from pincite.dashboard.http.bodies import BodyLimits, Refusal, limited, read_within
from pincite.dashboard.http.problem_page import is_page, problem_response
from pincite.dashboard.http.problems import http_problem
from pincite.dashboard.http.session_store import SessionStore
from pincite.dashboard.http.sessions import LASTS_S, Rate, Session

OPEN_PATHS = frozenset({"/healthz"})  # say nothing but that the server runs
STATIC = "/static/"
LOGIN = "/ui/login"
UPLOAD = "/ui/upload"
_FILES = {"POST": re.compile(f"{UPLOAD}|/documents"), "PUT": re.compile("/documents/[^/]+/file")}
"""What takes a file, by method: its body is read by the endpoint, within limits of its own."""
READING = frozenset({"/search", "/ask", "/mcp", "/ui/ask", "/ui/logout", LOGIN})
"""What is sent by POST and changes nothing: a viewer may."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
CSRF_HEADER = "x-csrf-token"
CSRF_FIELD = "csrf"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every response that does not set its own.

With `no-referrer` a browser sends the plain forms of signing in and out with the Origin `null`, which is nobody's.
"""


class Guard:
    """Refuses, reads the body within its limits, sets the headers; endpoints find the `Principal` in the scope."""

    def __init__(self, app: ASGIApp, access: Access, limits: BodyLimits, store: SessionStore) -> None:
        self._app = app
        self._access = access
        self._limits = limits
        self._sessions = access.sessions(store)
        self._wrong_tokens = Rate(20, 60)
        self._logins = Rate(10, 60)
        self._writes = Rate(120, 60)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = _cookie(headers, self._sessions.cookie)
        session = self._sessions.read(given, time.time())
        cookie = ""
        if session is None and scope["method"] in SAFE and is_page(scope):
            session, cookie = self._sessions.begin("anonymous", time.time())
        more = {"Cache-Control": "private, max-age=31536000"} if scope["path"].startswith(STATIC) else {}
        guarded = _with_headers(send, more, self._set_cookie(cookie) if cookie else "")
        principal = self._principal(headers, session, cookie or given)
        refused = self._refused(scope, headers, principal)
        messages: deque[Message] = deque()
        files = _FILES.get(scope["method"])
        whole = files is None or files.fullmatch(scope["path"]) is None
        if refused is None and whole:
            refused = await read_within(self._limits, headers, receive, messages)
        if refused is None:
            refused = self._forged(scope, headers, principal, session, messages)
        if refused is not None:
            await self._refuse(scope, receive, guarded, refused)
            return
        scope.setdefault("state", {}).update(principal=principal, sessions=self._sessions, session=session)

        async def replay() -> Message:
            return messages.popleft() if messages else await receive()

        await self._app(scope, replay if whole else limited(self._limits, headers, receive), guarded)

    def _set_cookie(self, value: str) -> str:
        return cookie_header(self._sessions.cookie, value, LASTS_S)

    def _principal(self, headers: Headers, session: Session | None, cookie: str) -> Principal | None:
        """None of who must say first who it is."""
        csrf = "" if session is None else self._sessions.csrf(session)

        def lasts() -> bool:
            return session is None or self._sessions.read(cookie, time.time()) is not None

        if not self._sessions.secured:
            return Principal("operator", csrf, lasts=lasts)
        if given := _token(headers):
            role = self._sessions.role_of(given)
            return None if role is None else Principal(role, secured=True)
        if session is not None:
            return Principal(session.role, csrf, secured=True, lasts=lasts)
        return None

    def _refused(self, scope: Scope, headers: Headers, principal: Principal | None) -> Refusal | None:
        path, host = scope["path"], headers.get("host", "")
        if not self._access.knows(host):
            return Refusal(421, "the Host header names another server: it is not known by that name")
        known = principal is not None and principal.role != "anonymous"
        if not known and path not in OPEN_PATHS and path != LOGIN and not path.startswith(STATIC):
            limited = self._limited(self._wrong_tokens, scope) if _token(headers) else None
            return limited or Refusal(401, "a token is needed", {"WWW-Authenticate": "Bearer"})
        if scope["method"] in SAFE:
            return None
        if not _is_same_origin(headers.get("origin"), host):
            return Refusal(403, "a page of another site sent this request")
        if principal is not None and principal.role == "viewer" and path not in READING:
            return Refusal(403, "this session may only read: sign in with the token of an operator")
        return self._too_often(scope)

    def _too_often(self, scope: Scope) -> Refusal | None:
        """Of sign-ins and of what changes something; searches have their own bound (`state.thread_pool`)."""
        path = scope["path"]
        if path in READING and path != LOGIN:
            return None
        return self._limited(self._logins if path == LOGIN else self._writes, scope)

    def _limited(self, rate: Rate, scope: Scope) -> Refusal | None:
        """Counts an event of this client; a refusal when there were too many."""
        client = scope.get("client")
        wait_s = rate.wait_s(client[0] if client else "", time.monotonic())
        if not wait_s:
            return None
        seconds = str(int(wait_s) + 1)
        return Refusal(429, f"more than {rate.most} in a minute: wait {seconds} s", {"Retry-After": seconds})

    def _forged(
        self,
        scope: Scope,
        headers: Headers,
        principal: Principal | None,
        session: Session | None,
        messages: deque[Message],
    ) -> Refusal | None:
        """A write of a page, or under a cookie, without the token of its session."""
        if scope["method"] in SAFE:
            return None
        by_cookie = principal is not None and self._sessions.secured and bool(principal.csrf)
        if not by_cookie and not scope["path"].startswith("/ui/"):
            return None  # of a program: a browser of another site was told apart by its Origin
        if session is not None and self._sessions.is_csrf(session, _csrf_of(headers, messages)):
            return None
        return Refusal(403, "the page is too old, or not of this server: load it again")

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, refused: Refusal) -> None:
        response: Response
        headers = dict(refused.headers)
        if refused.status in (408, 413):
            headers["Connection"] = "close"  # what is left of the body is not read
        if refused.status == 401 and is_page(scope):
            wanted = scope["path"] + (
                f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
            )
            address = f"{LOGIN}?next={quote(wanted, safe='')}"
            if "hx-request" in Headers(scope=scope):
                response = Response(status_code=401, headers={"HX-Redirect": LOGIN})
            else:
                response = RedirectResponse(address, 303)
        else:
            response = problem_response(scope, http_problem(refused.status, refused.reason), headers)
        await response(scope, receive, send)


def cookie_header(name: str, value: str, lasts_s: int) -> str:
    """The Set-Cookie header of a session; an empty value ends it."""
    return f"{name}={value}; Max-Age={lasts_s if value else 0}; Path=/; HttpOnly; SameSite=Strict"


def _cookie(headers: Headers, name: str) -> str:
    """Its value; "" when the request has none."""
    if "cookie" not in headers:
        return ""
    try:
        found = SimpleCookie(headers["cookie"]).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _token(headers: Headers) -> str:
    """The token that a program sent; "" when it sent none."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.casefold() == "bearer" else ""


def _is_same_origin(origin: str | None, host: str) -> bool:
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.casefold() == host.casefold()
    except ValueError:
        return False


def _csrf_of(headers: Headers, messages: deque[Message]) -> str:
    """From the header, or from the field of a plain form."""
    given = headers.get(CSRF_HEADER, "")
    if given or not headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return given
    body = b"".join(message.get("body", b"") for message in messages)
    try:
        return parse_qs(body.decode("ascii", "replace"), max_num_fields=100).get(CSRF_FIELD, [""])[0]
    except ValueError:
        return ""


def _with_headers(send: Send, more: dict[str, str], cookie: str) -> Send:
    async def guarded(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in (HEADERS | more).items():
                headers.setdefault(name, value)
            if cookie and "set-cookie" not in headers:
                headers.append("Set-Cookie", cookie)
        await send(message)

    return guarded
