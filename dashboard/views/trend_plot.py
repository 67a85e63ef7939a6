"""Trends as plain SVG: no script, no style attribute; the numbers stand in a table beside them."""

from collections.abc import Sequence

from markupsafe import Markup

from pincite.schemas.counting import counted
from pincite.schemas.display import escaped
from pincite.storage.queries.overview import RunRow

_WIDE, _HIGH, _FOOT = 600, 120, 16
_MOST_LABELLED = 12  # points: more labels would meet
_PARTS = (("indexed", "indexed"), ("failed", "failed"), ("deleted", "deleted"))


def runs_trend(runs: Sequence[RunRow]) -> Markup:
    """A bar a run, oldest first: what it indexed, what failed, what it took out; "" without an ended run."""
    ended = [run for run in reversed(runs) if run.discovered is not None or run.state == "broken"]
    if not ended:
        return Markup("")
    most = max(1, *(sum(_count(run, name) for name, _ in _PARTS) for run in ended))
    step = _WIDE / max(len(ended), 12)
    bars = "".join(_bar(run, place * step, step, most) for place, run in enumerate(ended))
    return Markup(
        f'<svg class="trend" viewBox="0 0 {_WIDE} {_HIGH + _FOOT}" role="img" '
        f'aria-label="What each of the last {len(ended)} runs changed, at most {counted(most, "document")}">'
        f'<line class="axis" x1="0" y1="{_HIGH}" x2="{_WIDE}" y2="{_HIGH}"/>{bars}'
        f'<text class="tick" x="0" y="10">{most:,}</text></svg>'
    )


def _bar(run: RunRow, left: float, step: float, most: int) -> str:
    told = ", ".join(f"{_count(run, name):,} {name}" for name, _ in _PARTS)
    at, parts = float(_HIGH), []
    for name, look in _PARTS:
        high = _HIGH * 0.88 * _count(run, name) / most
        at -= high
        if high:
            parts.append(_rect(look, left, step, at, high))
    if run.state == "broken":
        parts.append(_rect("broken", left, step, _HIGH - 5, 5))
    elif not parts:
        parts.append(_rect("idle", left, step, _HIGH - 2, 2))
    return f"<g><title>{escaped(run.kind)} {escaped(run.run_id)}, {run.state}: {told}</title>{''.join(parts)}</g>"


def _rect(look: str, left: float, step: float, top: float, high: float) -> str:
    return (
        f'<rect class="{look}" x="{left + 2:.1f}" y="{top:.1f}" width="{step - 4:.1f}" height="{high:.1f}"/>'
    )


def _count(run: RunRow, name: str) -> int:
    value: int | None = getattr(run, name)
    return value or 0


def line_trend(label: str, points: Sequence[tuple[str, float, float, float]]) -> Markup:
    """Shares in [0, 1] with their intervals, each (name, value, low, high), oldest first."""
    if not points:
        return Markup("")
    step = _WIDE / max(len(points), 2)
    xs = [(place + 0.5) * step for place in range(len(points))]

    def y(value: float) -> float:
        return _HIGH - value * (_HIGH - 10)

    line = " ".join(f"{x:.1f},{y(value):.1f}" for x, (_, value, _, _) in zip(xs, points, strict=True))
    marks = "".join(
        f"<g><title>{escaped(name)}: {value:.3f} ({low:.3f} to {high:.3f})</title>"
        f'<line class="interval" x1="{x:.1f}" x2="{x:.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}"/>'
        f'<circle class="point" cx="{x:.1f}" cy="{y(value):.1f}" r="4"/>'
        f"{_label(x, y(value), value) if len(points) <= _MOST_LABELLED else ''}</g>"
        for x, (name, value, low, high) in zip(xs, points, strict=True)
    )
    return Markup(
        f'<svg class="trend" viewBox="0 0 {_WIDE} {_HIGH + _FOOT}" role="img" aria-label="{escaped(label)}">'
        f'<line class="axis" x1="0" y1="{_HIGH}" x2="{_WIDE}" y2="{_HIGH}"/>'
        f'<line class="grid" x1="0" y1="{y(1.0)}" x2="{_WIDE}" y2="{y(1.0)}"/>'
        f'<text class="tick" x="0" y="{y(1.0) + 11:.0f}">1</text><text class="tick" x="0" y="{_HIGH - 3}">0</text>'
        f'<polyline class="line" points="{line}"/>{marks}</svg>'
    )


def _label(x: float, y: float, value: float) -> str:
    return f'<text class="tick" x="{x + 8:.1f}" y="{y - 4:.1f}">{value:.3f}</text>'
