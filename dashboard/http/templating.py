"""Templates: HTML pages with every text of documents escaped and its control characters shown.

A text that a template prints goes through `shown` first, so that no name can turn the line around; a page runs only
the scripts of this server.
"""

import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment
from starlette.responses import HTMLResponse
from starlette.types import Scope

from pincite.dashboard.http.access import Principal
from pincite.schemas import html_templates
from pincite.storage.queries.documents import reason_digest

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HERE = Path(__file__).parents[1]
NAVIGATION = (
    ("overview", "Overview", "/"),
    ("documents", "Documents", "/ui/documents"),
    ("search", "Search", "/ui/search"),
    ("evaluation", "Evaluation", "/ui/evaluation"),
    ("migration", "Migration", "/ui/migration"),
)


def page(
    scope: Scope, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A whole page or a part of one, for who sent the request."""
    state = scope.get("state", {})
    principal = state.get("principal") or Principal("anonymous")
    html = (
        environment()
        .get_template(template)
        .render(principal=principal, navigation=NAVIGATION, operator=principal.role == "operator", **values)
    )
    return HTMLResponse(html, status, {"Content-Security-Policy": POLICY, **(headers or {})})


@lru_cache(maxsize=1)
def environment() -> Environment:
    made = html_templates.environment(_HERE / "templates")
    made.filters |= {
        "number": number,
        "moment": moment,
        "zone": zone,
        "duration": duration,
        "digest": reason_digest,
        "segment": lambda text: quote(text, safe=""),
        "query": lambda values: urlencode([(k, v) for k, v in values.items() if v not in ("", None)]),
    }
    made.globals |= {"asset": asset, "zone": zone}
    return made


@lru_cache(maxsize=16)
def asset(name: str) -> str:
    """The address of a file of `static/`, other when the file is another."""
    changed = (_HERE / "static" / name).stat().st_mtime_ns
    return f"/static/{name}?{changed:x}"


def number(value: float | None) -> str:
    """1234567 as "1,234,567"; a dash for what is not known."""
    return "–" if value is None else f"{value:,.0f}"


def moment(at: float | None) -> str:
    """Seconds since the epoch as the server's clock has them."""
    return "–" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def zone(at: float | None = None) -> str:
    """The name of the zone in which `moment` tells a time; without one, of all of a year ("EET/EEST")."""
    if at is not None:
        return time.strftime("%Z", time.localtime(at))
    return "/".join(time.tzname if time.daylight else time.tzname[:1])


def duration(seconds: float | None) -> str:
    """ "0.4 s", "2 min 05 s", "1 h 03 min"."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
