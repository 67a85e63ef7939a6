"""What the plots of a report show. `plots.html.j2` draws them; the numbers stand in a table beside each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any

from jinja2 import Template
from markupsafe import Markup

from pincite.schemas.html_templates import environment


@dataclass(frozen=True, slots=True)
class Interval:
    """One row of a plot of shares: value and interval in [0, 1]; None where nothing was counted."""

    label: str
    figure: str  # said at the right end of the line, such as "64 % (61 of 96)"
    value: float | None
    low: float | None
    high: float | None
    main: bool = False


@dataclass(frozen=True, slots=True)
class Duel:
    """One row of a plot of wins and losses."""

    label: str
    figure: str  # such as "p = .013"
    won: int
    lost: int
    telling: bool  # whether the test says that it is no chance


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class CurveLine:
    """Shares in [0, 1] over the same x as the other lines; `look` is a class of the style sheet."""

    label: str
    look: str
    shares: tuple[float, ...]


def plot(kind: str, name: str, description: str, *data: Any) -> Markup:
    """A plot as SVG, by the macro `kind` of the template, which says what it takes.

    intervals: a dot for each value on a line that is its interval     bars: counts from 0
    duels: losses to the left of a middle line, wins to the right, and the count that fills a side
    stacked, curves: x, areas upon each other or lines over it, and the x that the index uses
    """
    return Markup(getattr(_template().module, kind)(name, description, *data))


@lru_cache(maxsize=1)
def _template() -> Template:
    made = environment(Path(__file__).parent)
    made.filters |= {"areas": _areas, "round_between": _round_between, "steps": _steps}
    return made.get_template("plots.html.j2")


def _areas(
    layers: Sequence[CurveLine], x: Sequence[float]
) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """(class, corners) of each, upon the one before."""
    below = [0.0] * len(x)
    for layer in layers:
        above = [under + share for under, share in zip(below, layer.shares, strict=True)]
        yield layer.look, [*_steps(above, x), *reversed(_steps(below, x))]
        below = above


def _steps(shares: Sequence[float], x: Sequence[float]) -> list[tuple[float, float]]:
    """Corners of a line that holds each value until the next x."""
    corners: list[tuple[float, float]] = []
    for value, share in zip(x, shares, strict=True):
        if corners:
            corners.append((value, corners[-1][1]))
        corners.append((value, share))
    return corners


def _round_between(x: Sequence[float]) -> list[float]:
    """At most six multiples of a round step from the first x to the last."""
    low, high = x[0], x[-1]
    step = next((one for one in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / one <= 5), 1.0)
    first = ceil(low / step - 1e-9)
    return [round(place * step, 6) for place in range(first, first + 7) if place * step <= high + 1e-9]
