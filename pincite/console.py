"""What all commands share in front of a person or a program: exit codes, JSON, tables, messages."""

import json
import sys
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from pincite.schemas import display


class ExitCode(IntEnum):
    WELL = 0
    FELL_SHORT = 1  # some documents failed, or a check found something
    WRONG_USE = 2  # also a broken index
    NO_ANSWER = 3
    INVENTED = 4  # an answer with a source that there is not, or a link of the model's own


IndexOption = Annotated[Path, typer.Option("--index", envvar="PINCITE_INDEX", help="The index folder.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value for programs.")]

DEFAULT_INDEX = Path("pincite-index")

one_line, shown = display.one_line, display.shown

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def complain(message: str) -> None:
    errors.print(Text(f"pincite: {message}"), soft_wrap=True)


def say(message: str) -> None:
    """Prints text as it is: what comes from documents holds no markup of ours."""
    console.print(Text(message), soft_wrap=True)


def print_json(value: object) -> None:
    """One JSON value; text that no terminal encoding could hold is escaped."""
    sys.stdout.write(json.dumps(value, ensure_ascii=not _utf8_out(), indent=2, allow_nan=False) + "\n")


def _utf8_out() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as their cells: a terminal folds what it can't show, and a pipe gets whole lines."""
    cells = [columns, *(["" if cell is None else one_line(str(cell)) for cell in row] for row in rows)]
    widths = [max(cell_len(row[column]) for row in cells) for column in range(len(columns))]
    for row in cells:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        say("  ".join(padded).rstrip())
