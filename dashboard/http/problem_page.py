"""Problems where they are read: JSON for programs and parts of pages, a page for a person."""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from pincite.dashboard.http.problems import Problem, response_of
from pincite.dashboard.http.templating import page


def is_page(scope: Scope) -> bool:
    """Whether a path is one of the dashboard's pages."""
    path: str = scope["path"]
    return path == "/" or path.startswith("/ui/") or path == "/ui"


def problem_response(scope: Scope, problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """The problem as a page of the dashboard, or as JSON for what a page asked for in part and for programs."""
    asked = Headers(scope=scope)
    if not is_page(scope) or "hx-request" in asked or "text/html" not in asked.get("accept", ""):
        return response_of(problem, headers)
    return page(scope, "problem.html.j2", problem.status, headers, problem=problem, active="")
