"""Rich Text (.rtf) by striprtf, where LibreOffice is not installed: paragraphs and rows of tables.

Raised, lowered, struck and hidden words are marked in the source with private characters before striprtf reads it,
since its output is plain text.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from striprtf.striprtf import rtf_to_text

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.marks import STRUCK, DrawnRun, Position, struck_words, written
from pincite.tasks.extraction.base.text_builder import TextBuilder

MEDIA_TYPE = "application/rtf"
_TOKEN = re.compile(
    r"\\(?P<word>[a-z]{1,32})(?P<number>-?\d{1,10})?[ ]?|\\[^a-z]|(?P<brace>[{}])", re.IGNORECASE
)
_PAGE = re.compile(r"\\ansicpg(\d{3,5})")
_STATES: dict[str, Position] = {
    "super": "raised",
    "sub": "lowered",
    "nosupersub": "",
    "up": "raised",
    "dn": "lowered",
}
_FIRST = 0xF8C0  # private characters: one for each way in which words are drawn
_WAYS: tuple[tuple[Position, bool, bool], ...] = tuple(
    (position, struck, hidden)
    for position in ("", "raised", "lowered")
    for struck in (False, True)
    for hidden in (False, True)
)
_MARK = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + len(_WAYS) - 1)}]")


def extract_rich_text(path: Path, settings: Settings) -> Extraction:
    """The document's text. Raises `Unreadable` for what is no Rich Text."""
    source = path.read_bytes().decode("latin-1")
    if not source.lstrip().startswith("{\\rtf"):
        raise Unreadable("not a Rich Text file: it does not begin with {\\rtf")
    page = _PAGE.search(source[:2000])
    encoding = f"cp{page[1]}" if page else "cp1252"
    try:
        read = cast(Callable[..., str], rtf_to_text)  # striprtf has no types
        text = read("".join(_marked(source)), encoding=encoding, errors="replace")
    except (ValueError, LookupError, IndexError, OverflowError) as error:
        raise Unreadable(f"not a readable Rich Text file ({error}): it is damaged") from error
    builder = TextBuilder()
    way = _WAYS[0]
    rows: list[list[str]] = []
    for line in text.split("\n"):
        runs, way = _runs(line, way, settings.include_hidden_text, builder)
        for words in struck_words(runs):
            builder.name(*STRUCK, words)
        shown = written(runs)
        if shown.rstrip().endswith("|"):
            rows.append(shown.rstrip()[:-1].split("|"))
            continue
        builder.table(rows)
        rows = []
        builder.paragraph(shown)
    builder.table(rows)
    return builder.extraction("", MEDIA_TYPE)


def _marked(source: str) -> Iterator[str]:
    """The source with a private character wherever the way of drawing changes."""
    stack: list[tuple[Position, bool, bool]] = []
    state: tuple[Position, bool, bool] = ("", False, False)
    at = 0
    for match in _TOKEN.finditer(source):
        before = state
        position, struck, hidden = state
        on = match["number"] != "0"
        if match["brace"] == "{":
            stack.append(state)
        elif match["brace"]:
            state = stack.pop() if stack else state
        elif match["word"] in _STATES:
            state = (_STATES[match["word"]] if on else "", struck, hidden)
        elif match["word"] in ("strike", "striked"):
            state = (position, on, hidden)
        elif match["word"] in ("v", "deleted"):
            state = (position, struck, on)
        elif match["word"] == "plain":
            state = ("", False, False)
        if state != before:
            yield source[at : match.end()]
            at = match.end()
            yield f"\\u{_FIRST + _WAYS.index(state) - 0x10000}?"
    yield source[at:]


def _runs(
    line: str, way: tuple[Position, bool, bool], include_hidden: bool, builder: TextBuilder
) -> tuple[list[DrawnRun], tuple[Position, bool, bool]]:
    """The runs of a line, and how the next line begins."""
    runs = []
    at = 0
    for match in [*_MARK.finditer(line), None]:
        words = line[at : match.start()] if match else line[at:]
        position, struck, hidden = way
        if hidden and not include_hidden:
            if words.strip():
                builder.name("hidden-text", "hidden text, left out", words)
        else:
            runs.append(DrawnRun(words, position, struck))
        if match:
            way = _WAYS[ord(match[0]) - _FIRST]
            at = match.end()
    return runs, way
