"""What rules and tables of a page are, and the few questions that all finders of tables ask."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from pincite.tasks.extraction.pages.layout import WordBox

SNAP = 3.0  # points; lines this near are one

W = TypeVar("W", bound=WordBox)

Row = list[list[W]]
"""The cells of one row while a table is being found, each a list of words."""

_NO_VALUE = frozenset(("-", "–", "—", "\u2212", "*", "..", "...", "(X)", "n.a.", "n/a", "NA", "N/A", "nil"))


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal or vertical line."""

    x0: float
    top: float
    x1: float
    bottom: float

    @property
    def horizontal(self) -> bool:
        return self.x1 - self.x0 >= self.bottom - self.top


@dataclass(frozen=True, slots=True)
class Table(Generic[W]):
    """Rows of cells of lines of words; all rows have the same number of cells."""

    x0: float
    top: float
    x1: float
    bottom: float
    rows: tuple[tuple[tuple[tuple[W, ...], ...], ...], ...]

    @property
    def columns(self) -> int:
        return len(self.rows[0]) if self.rows else 0


def is_figure(text: str) -> bool:
    """Whether a word stands for a value: a number, or a sign that there is none."""
    return any(map(str.isdigit, text)) or text in _NO_VALUE
