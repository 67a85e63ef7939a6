"""Jupyter notebooks (.ipynb): Markdown cells, code cells, and what their cells printed. nbformat 4, and 3 before it.

Each cell is a place. Pictures among the outputs are named, not read.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.encoding import decode
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.text_builder import TextBuilder
from pincite.tasks.extraction.text.markdown import markdown_blocks, with_marks

_OUTPUT_CHARACTERS = 20_000  # of one cell: a log that goes on for ever says little


def extract_notebook(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The cells in order. Title: the first heading of level 1. Raises `Unreadable` for what is no notebook."""
    progress(1)
    source, warnings = decode(path.read_bytes())
    builder = TextBuilder()
    builder.add_warnings(warnings)
    title = ""
    for number, cell in enumerate(_cells(source), start=1):
        kind, text = str(cell.get("cell_type", "")), _joined(cell.get("source", cell.get("input", "")))
        with builder.place("entry", f"cell {number}"):
            if kind in ("markdown", "heading"):
                heading = _markdown(builder, "# " * (kind == "heading") + text)
                title = title or heading
            elif kind == "code":
                builder.paragraph(text, "code")
                _outputs(builder, cell.get("outputs"), number)
            else:
                builder.paragraph(text)
    return builder.extraction(title, "application/x-ipynb+json")


def _cells(source: str) -> Iterator[dict[str, Any]]:
    try:
        notebook = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not a notebook: its JSON can't be parsed ({error})") from error
    if not isinstance(notebook, dict):
        raise Unreadable("not a notebook: no list of cells in it")
    sheets = notebook.get("worksheets")
    holders = sheets if isinstance(sheets, list) else [notebook]
    lists = [holder.get("cells") for holder in holders if isinstance(holder, dict)]
    found = [cell for cells in lists if isinstance(cells, list) for cell in cells]
    if not found:
        raise Unreadable("not a notebook: no list of cells in it")
    yield from (cell for cell in found if isinstance(cell, dict))


def _markdown(builder: TextBuilder, text: str) -> str:
    """Appends the blocks of a cell; returns its first heading of level 1."""
    text = with_marks(text)
    title = ""
    for block in markdown_blocks(text):
        words = text[block.start : block.end]
        if block.kind == "heading":
            builder.heading(block.title, block.level)
            title = title or (block.title if block.level == 1 else "")
        else:
            builder.paragraph(words, block.kind)
    return title


def _outputs(builder: TextBuilder, outputs: Any, number: int) -> None:
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data", output)
        data = data if isinstance(data, dict) else {}
        text = _joined(output.get("text", data.get("text/plain", data.get("text", ""))))
        text = text or _joined(output.get("evalue", ""))
        text = decode(text.encode("utf-8", "replace"))[0] if text.strip() else ""
        builder.paragraph(text[:_OUTPUT_CHARACTERS].strip("\n"), "code")
        if len(text) > _OUTPUT_CHARACTERS:
            builder.name(
                "cut-off", f"outputs of more than {_OUTPUT_CHARACTERS:,} characters, cut", f"cell {number}"
            )
        for kind in data:
            if kind.startswith("image/") or kind in ("png", "jpeg", "svg"):
                builder.name("embedded-image", "embedded images are not read", f"cell {number}")


def _joined(value: Any) -> str:
    """Text is one string or a list of lines."""
    if isinstance(value, str):
        return value
    return "".join(map(str, value)) if isinstance(value, Iterable) and not isinstance(value, dict) else ""
