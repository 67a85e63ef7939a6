"""HTML templates: all that comes from documents is escaped, and what a control character is can be seen."""

import base64
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pincite.schemas.counting import counted, decimal
from pincite.schemas.display import one_line, shown


@lru_cache(maxsize=8)
def environment(folder: Path, visible: Callable[[str], str] = shown) -> Environment:
    """The templates of a folder. `visible` is applied to each text that is printed, before it is escaped."""

    def printed(value: object) -> object:
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        auto_reload=False,  # which would look at each file for each page
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=printed,
    )
    made.filters |= {
        "base64": lambda data: base64.b64encode(data).decode("ascii"),
        "counted": counted,
        "decimal": decimal,
        "line": one_line,
        "points": _points,
    }
    return made


def _points(corners: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
