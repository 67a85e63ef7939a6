"""Errors as problem details (RFC 9457): what failed, why, and what to do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from pincite.schemas import errors
from pincite.schemas.display import shown

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 5


class Problem(BaseModel):
    """RFC 9457. `detail` says what failed and why; `remedy` what to do about it."""

    type: str = Field(description="urn:pincite: and a stable word")
    title: str
    status: int
    detail: str
    remedy: str
    faults: list[dict[str, str]] = Field(default=[], description="of a request: each with `where` and `what`")


@dataclass(frozen=True, slots=True)
class Kind:
    status: int
    word: str
    title: str
    remedy: str


_KINDS: Mapping[type[errors.PinciteError], Kind] = {
    errors.NotFound: Kind(
        404, "not-found", "No such document or passage", "Take ids from a search or a listing."
    ),
    errors.SpaceMismatch: Kind(
        409,
        "space-mismatch",
        "The index is of another model version than the server's settings",
        "Search with mode bm25, or start the server with the settings that the index was made with.",
    ),
    errors.ModelUnavailable: Kind(
        503,
        "model-unavailable",
        "The weights of a model are not on the server",
        "Ask without it, or provide the weights as the detail says and ask again.",
    ),
    errors.UsageError: Kind(
        422, "usage", "The request can't be carried out", "Change it as the detail says."
    ),
    errors.IndexBusy: Kind(503, "busy", "The server or the index is busy", "Ask again in a few seconds."),
    errors.ChildFailed: Kind(
        503, "child-failed", "No child process can be started", "Free memory or processes on the server."
    ),
    errors.ServerFailed: Kind(
        503, "server-failed", "The Prefect server did not start", "Read the detail, then ask again."
    ),
    errors.AnswerFailed: Kind(
        502,
        "answer-failed",
        "The answering endpoint gave no whole answer",
        "The citations are good without it; do as the detail says, then ask again.",
    ),
    errors.IndexBroken: Kind(
        500, "index-broken", "What is stored contradicts itself", "Run `pincite verify` on the server."
    ),
    errors.DocumentError: Kind(422, "document", "The document can't be processed", "See its detail."),
    errors.PinciteError: Kind(500, "error", "The request failed", "Read the detail."),
}
"""By error; one that is not named is of the kind of its nearest parent."""

_REQUEST = Kind(422, "request", "The request is not as described", "Compare it with /openapi.json.")
_HTTP_REMEDIES = {
    401: "Send the token of the server as `Authorization: Bearer …`.",
    403: "Ask from a page of this server that was just loaded, or from no page, with the rights for it.",
    404: "The paths are described in /openapi.json.",
    405: "The methods of each path are described in /openapi.json.",
    408: "Send the request faster.",
    413: "Send a smaller request.",
    429: "Wait as long as Retry-After says.",
    421: "Address the server by the name or number on which it serves.",
}


def problem_of(error: errors.PinciteError) -> Problem:
    kind = next(_KINDS[one] for one in type(error).__mro__ if one in _KINDS)
    return _problem(kind, shown(str(error)))


def http_problem(status: int, detail: str) -> Problem:
    """A problem of HTTP itself: no such path, no token, too large."""
    title = HTTPStatus(status).phrase
    word = title.lower().replace(" ", "-")
    return _problem(Kind(status, word, title, _HTTP_REMEDIES.get(status, "Change the request.")), detail)


def _problem(kind: Kind, detail: str, faults: Sequence[dict[str, str]] = ()) -> Problem:
    return Problem(
        type=f"urn:pincite:{kind.word}",
        title=kind.title,
        status=kind.status,
        detail=detail,
        remedy=kind.remedy,
        faults=list(faults),
    )


def response_of(
    problem: Problem, headers: Mapping[str, str] | None = None, **members: object
) -> JSONResponse:
    """The problem, with further members of its own kind."""
    more = dict(headers or {})
    if problem.type == "urn:pincite:busy":  # what else is missing will still be missing then
        more.setdefault("Retry-After", str(RETRY_AFTER_S))
    return JSONResponse(problem.model_dump() | members, problem.status, more, media_type=MEDIA_TYPE)


Respond = Callable[[Scope, Problem, Mapping[str, str] | None], Response]
"""Gives a problem the form that whoever asked can read."""


def add_handlers(app: FastAPI, respond: Respond) -> None:
    """Every error that an endpoint ends with becomes a problem."""

    @app.exception_handler(errors.PinciteError)
    async def pincite_error(request: Request, error: errors.PinciteError) -> Response:
        return respond(request.scope, problem_of(error), None)

    @app.exception_handler(RequestValidationError)
    async def wrong_request(request: Request, error: RequestValidationError) -> Response:
        """What was sent is not repeated: it may hold what no JSON can."""
        faults = [
            {"where": shown(".".join(map(str, one["loc"]))), "what": shown(one["msg"])}
            for one in error.errors()
        ]
        detail = "; ".join(f"{one['where']}: {one['what']}" for one in faults)
        return respond(request.scope, _problem(_REQUEST, detail, faults), None)

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        return respond(request.scope, http_problem(error.status_code, str(error.detail)), error.headers)

    @app.exception_handler(Exception)
    async def fault(request: Request, _error: Exception) -> Response:
        """A fault of ours: its words stay in the server's log."""
        kind = Kind(500, "fault", "A fault of Pincite", "Report it with the server's log.")
        return respond(
            request.scope, _problem(kind, "the request met an error that Pincite did not expect"), None
        )


READS = (401, 421, 422, 500, 503)
WRITES = (401, 403, 408, 413, 421, 422, 429, 500, 503)
"""What `pincite.dashboard.http.guard` and every endpoint may answer, beside what an endpoint says of its own."""


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of an endpoint for OpenAPI."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "model": Problem, "content": content}
        for status in sorted(statuses)
    }
