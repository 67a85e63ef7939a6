"""Plain text and source text: the canonical text is the decoded file itself."""

import re
from collections.abc import Iterator
from pathlib import Path

from pincite.schemas.records import Block, BlockKind, Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.encoding import decode
from pincite.tasks.extraction.base.interface import Progress

_PROSE = frozenset({"", ".txt", ".text", ".rst", ".adoc", ".org", ".tex"})
"""Suffixes whose lines flow. Of all others (programs, logs, settings) a line is a unit, as in code."""

_RULE = re.compile(r"([=\-~^\"'*+#_:.])\1{2,}")


def extract_plain(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The decoded file. Blocks are its runs of lines without a blank one; underlined titles are headings."""
    progress(1)
    text, warnings = decode(path.read_bytes())
    suffix = path.suffix.lower()
    prose = suffix in _PROSE or not re.search("[a-z]", suffix)
    blocks = tuple(_with_headings(text)) if prose else tuple(paragraphs(text, 0, len(text), "code"))
    return Extraction(
        text=text,
        title=next((block.title for block in blocks[:1] if block.kind == "heading"), ""),
        media_type="text/plain",
        blocks=blocks,
        warnings=warnings,
    )


def paragraphs(text: str, start: int, end: int, kind: BlockKind = "paragraph") -> Iterator[Block]:
    """A block for each run of non-blank lines in `text[start:end]`, without the white space around it.

    Code keeps the indentation of its first line.
    """
    first = last = -1
    while start < end:
        line_end = text.find("\n", start, end)
        line_end = end if line_end < 0 else line_end
        line = text[start:line_end]
        if line.strip():
            first = (
                (start if kind == "code" else start + len(line) - len(line.lstrip())) if first < 0 else first
            )
            last = start + len(line.rstrip())
        elif first >= 0:
            yield Block(kind, first, last)
            first = -1
        start = line_end + 1
    if first >= 0:
        yield Block(kind, first, last)


def _with_headings(text: str) -> Iterator[Block]:
    """Paragraphs; one that is a line over a rule of its length (and under one, perhaps) is a heading.

    As in reStructuredText, the outermost level is the kind of rule that comes first.
    """
    levels: dict[tuple[str, bool], int] = {}
    for block in paragraphs(text, 0, len(text)):
        lines = text[block.start : block.end].split("\n")
        over = len(lines) == 3 and _is_rule(lines[0]) and lines[0].rstrip() == lines[2].rstrip()
        title = lines[1 if over else 0].strip()
        if len(lines) == 2 + over and _is_rule(lines[-1]) and not _is_rule(title) and _fits(title, lines[-1]):
            level = levels.setdefault((lines[-1][0], over), len(levels) + 1)
            yield Block("heading", block.start, block.end, level, title)
        else:
            yield block


def _is_rule(line: str) -> bool:
    return _RULE.fullmatch(line.rstrip()) is not None


def _fits(title: str, rule: str) -> bool:
    """Whether the rule was drawn for this title: not shorter, and not a line across the page."""
    return (
        any(character.isalnum() for character in title)
        and len(title) <= len(rule.rstrip()) <= 2 * len(title) + 8
    )
