"""Builds a canonical text. Offsets are counted here and nowhere else in the extractors that use it.

Blocks are separated by one blank line. Headings and tables are written as Markdown, so that every reader
of the text sees the structure that the blocks record.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Block, BlockKind, DocumentWarning, Extraction, Place, PlaceKind, Word

NAMES_SHOWN = 12  # of the things that one warning lists; the rest is counted

# Lone surrogates have no UTF-8 form; other C0 and C1 controls show nothing and end a C string or an XML file.
_UNSTORABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BLANK_LINES = re.compile(r"\n\s*\n")
_SPACES = re.compile(r"\s+")
_VISIBLE = re.compile(r"\w")

Piece = tuple[str, str]
"""A stretch of text and the label of its place; "" when it has none."""


class TextBuilder:
    """Appends blocks; records where each stands and from which place of the source it came."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._places: list[Place] = []
        self._warnings: list[DocumentWarning] = []
        self._named: dict[tuple[str, str], list[str]] = {}
        self._replaced = 0
        self._words: list[Word] = []  # of members that OCR read
        self._stand_in: tuple[str, int] | None = None

    @property
    def empty(self) -> bool:
        return not self._blocks

    @property
    def count(self) -> int:
        """Blocks so far."""
        return len(self._blocks)

    def boilerplate(self, first: int, own: Sequence[bool]) -> None:
        """Of the blocks from `first` on, those that are not the page's own become boilerplate."""
        for at, one in enumerate(own, start=first):
            if not one:
                block = self._blocks[at]
                self._blocks[at] = Block("boilerplate", block.start, block.end)

    def block_texts(self, first: int) -> list[tuple[Block, str]]:
        """The blocks from `first` on with their words."""
        text = "".join(self._parts)
        return [(block, text[block.start : block.end]) for block in self._blocks[first:]]

    def heading(self, title: str, level: int, label: str = "", kind: PlaceKind = "entry") -> None:
        """Level 1 is the outermost; levels beyond 6 are written like 6, which is all that Markdown has."""
        words = one_line(title)
        if words:
            self._append(
                "heading", f"{'#' * min(max(level, 1), 6)} {words}", level=max(level, 1), title=words
            )
            self._label_last(kind, label)

    def stand_in(self, title: str, level: int) -> None:
        """A heading that the source does not have; written only if text follows on the same place."""
        self._stand_in = (title, level)

    def paragraph(
        self, text: str, kind: BlockKind = "paragraph", label: str = "", at: PlaceKind = "entry"
    ) -> None:
        """One block a paragraph of `text`: blank lines separate blocks, except within code."""
        pieces = [text] if kind == "code" else _BLANK_LINES.split(_LINE_ENDS.sub("\n", text))
        for piece in pieces:
            if piece.strip():
                self._append(kind, piece)
                self._label_last(at, label)

    def run(
        self, pieces: Sequence[Piece], kind: BlockKind, at: PlaceKind, joiner: str, repeat: str = ""
    ) -> None:
        """One block out of several stretches, each with its own place."""
        cleaned = [(self._clean(text).strip(), label) for text, label in pieces]
        kept = [(text, label) for text, label in cleaned if text]
        if not kept:
            return
        self._append(kind, joiner.join(text for text, _ in kept), repeat=repeat)
        start = self._blocks[-1].start
        for text, label in kept:
            if label:
                self._places.append(Place(at, start, start + len(text), label))
            start += len(text) + len(joiner)

    def table(
        self,
        rows: Sequence[Sequence[str]],
        labels: Sequence[str] = (),
        at: PlaceKind = "cells",
        named: bool = True,
    ) -> None:
        """A Markdown table under its first row. `labels` are the places of the rows, header included.

        What is repeated over each chunk is the first row, or the second below a title over the whole table;
        nothing when the columns are not `named`.
        """
        if not rows:
            return
        width = max(len(row) for row in rows)
        lines = [table_row(row, width) for row in rows]
        repeat = self._clean(lines[_header_index(rows, width)]) if named else ""
        pieces = list(zip(lines, labels or [""] * len(lines), strict=True))
        pieces.insert(1, ("|" + " --- |" * width, ""))
        self.run(pieces, "table", at, "\n", repeat=repeat)

    @contextmanager
    def place(self, kind: PlaceKind, label: str) -> Iterator[None]:
        """All blocks that are appended inside stand on this place."""
        first = len(self._blocks)
        yield
        self._stand_in = None
        if len(self._blocks) > first:
            self._places.append(Place(kind, self._blocks[first].start, self._blocks[-1].end, label))

    def member(self, name: str, extraction: Extraction) -> None:
        """Appends the text of a file inside this document under its name, its pages as places of their own."""
        self.heading(name, 2)
        text = extraction.text.strip("\n")
        lead = len(extraction.text) - len(extraction.text.lstrip("\n"))
        start = self._length + 2 - lead
        self._parts += ["\n\n", text]
        self._length += 2 + len(text)
        for block in extraction.blocks:
            level = block.level + 2 if block.level else 0
            moved = replace(block, start=block.start + start, end=block.end + start, level=level)
            self._blocks.append(moved)
        self._words += [
            replace(word, start=word.start + start, end=word.end + start) for word in extraction.words
        ]
        inner = [
            Place("entry", page.start, page.end, f"{name}, page {page.number}") for page in extraction.pages
        ]
        for place in inner or [Place("entry", lead, lead + len(text), name)]:
            if place.end > place.start:
                end = min(place.end + start, self._length)
                self._places.append(replace(place, start=place.start + start, end=end))
        self._warnings += [replace(each, message=f"{name}: {each.message}") for each in extraction.warnings]

    def warn(self, code: str, message: str, page: int | None = None) -> None:
        self._warnings.append(DocumentWarning(code, message, page))

    def add_warnings(self, warnings: Sequence[DocumentWarning]) -> None:
        self._warnings.extend(warnings)

    def name(self, code: str, message: str, thing: str) -> None:
        """Warn once about all things of a kind: "`message`: first, second, third"."""
        self._named.setdefault((code, message), []).append(one_line(thing) or "unnamed")

    def extraction(self, title: str, media_type: str) -> Extraction:
        """All that was appended. Raises `Unreadable` when there is no letter or digit in it."""
        text = "".join(self._parts)
        warnings = tuple(dict.fromkeys((*self._warnings, *self._named_warnings())))
        if not _VISIBLE.search(text):
            told = "; ".join(warning.message for warning in warnings)
            raise Unreadable(f"the document holds no text{f' ({told})' if told else ''}")
        return Extraction(
            text=text,
            title=one_line(self._clean(title)),
            media_type=media_type,
            blocks=tuple(self._blocks),
            places=tuple(sorted(self._places, key=lambda place: (place.start, place.end))),
            words=tuple(self._words),
            warnings=warnings,
        )

    def _append(self, kind: BlockKind, text: str, level: int = 0, title: str = "", repeat: str = "") -> None:
        if self._stand_in:
            stand_in, self._stand_in = self._stand_in, None
            self.heading(*stand_in)
        text = self._clean(text).strip("\n")
        text = text.rstrip() if kind == "code" else text.strip()
        if self._parts:
            self._parts.append("\n\n")
            self._length += 2
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        self._blocks.append(Block(kind, start, self._length, level, self._clean(title), repeat))

    def _label_last(self, kind: PlaceKind, label: str) -> None:
        if label:
            self._places.append(Place(kind, self._blocks[-1].start, self._blocks[-1].end, label))

    def _clean(self, text: str) -> str:
        cleaned, replaced = _UNSTORABLE.subn("\ufffd", _LINE_ENDS.sub("\n", text))
        self._replaced += replaced
        return cleaned

    def _named_warnings(self) -> Iterator[DocumentWarning]:
        if self._replaced:
            yield DocumentWarning(
                "replaced-characters", "control characters or lone surrogates became U+FFFD"
            )
        for (code, message), things in self._named.items():
            shown = ", ".join(things[:NAMES_SHOWN])
            rest = len(things) - NAMES_SHOWN
            yield DocumentWarning(code, f"{message}: {shown}{f' and {rest} more' if rest > 0 else ''}")


def _header_index(rows: Sequence[Sequence[str]], width: int) -> int:
    """0, or 1 when the first row holds one cell and the second row more."""
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows[:2]]
    return 1 if width > 2 and len(rows) > 2 and filled[0] == 1 and rows[0][0].strip() and filled[1] > 1 else 0


def one_line(text: str) -> str:
    """`text` on one line, runs of white space as one space."""
    return _SPACES.sub(" ", text).strip()


def table_row(cells: Sequence[str], width: int) -> str:
    """One Markdown row of `width` cells; missing cells are empty, bars escaped, line ends become spaces."""
    padded = [one_line(cell).replace("|", "\\|") for cell in cells] + [""] * (width - len(cells))
    return "| " + " | ".join(padded) + " |"
