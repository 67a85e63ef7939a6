"""Plots as plain SVG: no script, no style attributes, colours from the page's style sheet by class.

Each is 340 units wide and as high as it must be, so that its letters keep their size on a phone. Each has a title and
a description for those who do not see it; the numbers stand in a table beside it. All text is escaped here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from pincite.schemas.display import escaped

WIDTH = 340
_LEFT, _RIGHT = 8, WIDTH - 8
_ROW = 36
_HEAD = 8
_FOOT = 24
_LETTERS = 44  # of a label that shares its line with a figure
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


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


def intervals(name: str, description: str, rows: Sequence[Interval]) -> str:
    """A dot for each value on a line that is its interval, over a scale from 0 to 100 %."""
    height = _HEAD + _ROW * len(rows) + _FOOT
    parts = [*_ticks(height - _FOOT)]
    for number, row in enumerate(rows):
        top = _HEAD + _ROW * number
        parts += [f'<path class="grid" d="{_marks(top)}"/>']
        parts.append(_labels(top, row.label, row.figure, "strong" if row.main else ""))
        if row.value is not None and row.low is not None and row.high is not None:
            look = "main" if row.main else "other"
            low, high = _x(row.low), _x(row.high)
            parts.append(
                f'<rect class="span {look}" x="{low:.1f}" y="{top + 21}" width="{high - low:.1f}" height="6" rx="3"/>'
            )
            parts.append(f'<circle class="dot {look}" cx="{_x(row.value):.1f}" cy="{top + 24}" r="5"/>')
    return _svg(name, description, height, parts)


def duels(name: str, description: str, rows: Sequence[Duel], most: int) -> str:
    """Losses to the left of a middle line, wins to the right; `most` is the count that fills a side."""
    height = _HEAD + _ROW * len(rows) + 4
    middle, unit = WIDTH / 2, (WIDTH / 2 - 40) / max(1, most)
    parts = []
    for number, row in enumerate(rows):
        top = _HEAD + _ROW * number
        telling = "telling" if row.telling else "unsure"
        lost, won = row.lost * unit, row.won * unit
        parts += [
            _labels(top, row.label, row.figure, "strong" if row.telling else ""),
            f'<rect class="lost {telling}" x="{middle - lost:.1f}" y="{top + 19}" width="{lost:.1f}" height="10"/>',
            f'<path class="axis" d="M{middle} {top + 17}v14"/>',
            f'<rect class="won {telling}" x="{middle:.1f}" y="{top + 19}" width="{won:.1f}" height="10"/>',
            f'<text class="count" text-anchor="end" x="{middle - lost - 4:.1f}" y="{top + 28}">−{row.lost}</text>',
            f'<text class="count" x="{middle + won + 4:.1f}" y="{top + 28}">+{row.won}</text>',
        ]
    return _svg(name, description, height, parts)


def bars(name: str, description: str, rows: Sequence[Bar]) -> str:
    """Counts from 0, the longest as long as the plot is wide."""
    height = _HEAD + _ROW * len(rows) + 4
    unit = (_RIGHT - _LEFT) / max(1, *(row.count for row in rows))
    parts = []
    for number, row in enumerate(rows):
        top = _HEAD + _ROW * number
        parts.append(_labels(top, row.label, str(row.count), ""))
        parts.append(
            f'<rect class="bar" x="{_LEFT}" y="{top + 19}" width="{row.count * unit:.1f}" height="10" rx="2"/>'
        )
    return _svg(name, description, height, parts)


def stacked(name: str, description: str, x: Sequence[float], layers: Sequence[CurveLine], mark: float) -> str:
    """Areas upon each other, the first at the bottom; `mark` is the x that the index uses."""
    parts = []
    below = [0.0] * len(x)
    for layer in layers:
        above = [under + share for under, share in zip(below, layer.shares, strict=True)]
        corners = [*_steps(x, above), *reversed(_steps(x, below))]
        parts.append(f'<polygon class="area {layer.look}" points="{_points(corners)}"/>')
        below = above
    return _svg(name, description, _CURVE, [*parts, *_curve_axes(x, mark)])


def curves(name: str, description: str, x: Sequence[float], lines: Sequence[CurveLine], mark: float) -> str:
    """Steps over x, a line each."""
    parts = [
        f'<polyline class="curve {line.look}" points="{_points(_steps(x, line.shares))}"/>' for line in lines
    ]
    return _svg(name, description, _CURVE, [*_curve_axes(x, mark), *parts])


# Curves

_CURVE = 220
_TOP, _BOTTOM, _START = 18, 176, 40


def _curve_x(x: Sequence[float], value: float) -> float:
    low, high = x[0], x[-1]
    return _START + (_RIGHT - _START) * ((value - low) / (high - low) if high > low else 0.5)


def _curve_y(share: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * share


def _steps(x: Sequence[float], shares: Sequence[float]) -> list[tuple[float, float]]:
    """Corners of a line that holds each value until the next x."""
    corners: list[tuple[float, float]] = []
    for value, share in zip(x, shares, strict=True):
        here = _curve_x(x, value)
        if corners:
            corners.append((here, corners[-1][1]))
        corners.append((here, _curve_y(share)))
    return corners


def _points(corners: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _curve_axes(x: Sequence[float], mark: float) -> Iterator[str]:
    for share in _TICKS:
        y = _curve_y(share)
        yield f'<line class="grid" x1="{_START}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" text-anchor="end" x="{_START - 5}" y="{y + 4:.1f}">{share:.0%}</text>'
    for value in _round_between(x[0], x[-1]):
        here = _curve_x(x, value)
        yield f'<line class="grid" x1="{here:.1f}" x2="{here:.1f}" y1="{_BOTTOM}" y2="{_BOTTOM + 4}"/>'
        yield f'<text class="tick" text-anchor="middle" x="{here:.1f}" y="{_BOTTOM + 17}">{value:g}</text>'
    middle = (_START + _RIGHT) / 2
    name = "threshold (cosine distance)"
    yield f'<text class="tick" text-anchor="middle" x="{middle}" y="{_BOTTOM + 36}">{name}</text>'
    if x[0] <= mark <= x[-1]:
        here = _curve_x(x, mark)
        anchor = "end" if here > middle else "start"
        yield f'<line class="mark" x1="{here:.1f}" x2="{here:.1f}" y1="{_TOP - 4}" y2="{_BOTTOM}"/>'
        used = f"in use: {mark:g}"
        yield f'<text class="tick strong" text-anchor="{anchor}" x="{here:.1f}" y="{_TOP - 7}">{used}</text>'


def _round_between(low: float, high: float) -> list[float]:
    """At most six multiples of a round step in `[low, high]`."""
    step = next((one for one in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / one <= 5), 1.0)
    first = ceil(low / step - 1e-9)
    return [round(place * step, 6) for place in range(first, first + 7) if place * step <= high + 1e-9]


# Parts


def _x(share: float) -> float:
    return _LEFT + 6 + (_RIGHT - _LEFT - 12) * share


def _ticks(bottom: int) -> Iterator[str]:
    for share in _TICKS:
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        yield f'<text class="tick" text-anchor="{anchor}" x="{_x(share):.1f}" y="{bottom + 14}">{share:.0%}</text>'


def _marks(top: int) -> str:
    """Where the ticks cross a row, below its letters."""
    return "".join(f"M{_x(share):.1f} {top + 17}v14" for share in _TICKS)


def _labels(top: int, label: str, figure: str, look: str) -> str:
    room = _LETTERS - len(figure)
    shown = label if len(label) <= room else f"{label[: room - 1]}…"
    return (
        f'<text class="label {look}" x="{_LEFT}" y="{top + 13}">{escaped(shown)}</text>'
        f'<text class="figure {look}" text-anchor="end" x="{_RIGHT}" y="{top + 13}">{escaped(figure)}</text>'
    )


def _svg(name: str, description: str, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img"><title>{escaped(name)}</title>'
        f"<desc>{escaped(description)}</desc>{''.join(parts)}</svg>"
    )
