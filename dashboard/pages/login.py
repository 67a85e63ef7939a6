"""Signing in and out."""

import time
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from pincite.dashboard.http.guard import LOGIN, cookie_header
from pincite.dashboard.http.sessions import LASTS_S, Session, Sessions
from pincite.dashboard.http.templating import page

router = APIRouter(include_in_schema=False)

Next = Annotated[str, Query(max_length=2_000)]


@router.get(LOGIN)
async def form(request: Request, next: Next = "/") -> Response:
    return page(request.scope, "login.html.j2", active="", wrong=False, next=_own(next))


@router.post(LOGIN)
async def sign_in(
    request: Request,
    token: Annotated[str, Form(max_length=500)] = "",
    next: Annotated[str, Form(max_length=2_000)] = "/",
) -> Response:
    """A session of the token's role, under a new cookie, and on to where the person wanted to go."""
    sessions: Sessions = request.state.sessions
    role = sessions.role_of(token.strip())
    if role is None:
        return page(request.scope, "login.html.j2", 401, active="", wrong=True, next=_own(next))
    _, cookie = sessions.begin(role, time.time())
    return RedirectResponse(_own(next), 303, {"Set-Cookie": cookie_header(sessions.cookie, cookie, LASTS_S)})


@router.post("/ui/logout")
async def sign_out(request: Request) -> Response:
    """Ends the session for every copy of its cookie."""
    sessions: Sessions = request.state.sessions
    session: Session | None = request.state.session
    if session is not None:
        sessions.end(session)
    return RedirectResponse(LOGIN, 303, {"Set-Cookie": cookie_header(sessions.cookie, "", 0)})


def _own(address: str) -> str:
    """The address if it is a page of this server, else the overview."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "/"
    own = not parts.scheme and not parts.netloc and (parts.path == "/" or parts.path.startswith("/ui/"))
    return address if own and address.isprintable() and "\\" not in address else "/"
