"""What the lines of a whole PDF say together: running lines, body type, headings and their levels."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import regex

from pincite.tasks.extraction.pages.running_lines import DEPTH, ZONE, EdgeLine, running_lines
from pincite.tasks.extraction.pdf.line_text import join
from pincite.tasks.extraction.pdf.notes import OutlineEntry
from pincite.tasks.extraction.pdf.page import PageContent
from pincite.tasks.extraction.pdf.pieces import PageLine, Piece

LARGER = 1.12  # than the body type: a heading
MUCH_LARGER = 1.3
LARGER_OCR = 1.35  # heights of OCR boxes vary with the letters
MAX_HEADING_LINES = 3
MAX_HEADING = 200  # characters
MAX_PLAIN_HEADING = 60
MAX_LEVEL = 6
SENTENCE_MARKS = ".,;:!\u3002\uff0c\uff1b\uff1a"

_LETTER = regex.compile(r"\p{L}")
_NOT_WORD = regex.compile(r"[^\p{L}\p{N}]+")
_NUMBERING = regex.compile(r"^(\d+\s*)+(?=\p{L})")
_NUMBERED = regex.compile(r"\d{1,2}(\.\d{1,2}){0,4}\.?\s+\p{Lu}\p{L}")
_CAPITALS = regex.compile(r"(?=(.*\p{Lu}){5})[\p{Lu}\p{N}\p{P}\s]+(No\.\s*\d+)?$")

Style = tuple[float, bool, bool]
"""(size in half points, bold, by OCR)"""


@dataclass(frozen=True, slots=True)
class Headings:
    """Levels of the pieces that are headings, by (index of the page, index of the piece)."""

    levels: dict[tuple[int, int], int]
    largest: str  # the largest heading of the first page that has any; "" when there is none


def without_running_lines(
    pages: Sequence[PageContent],
) -> tuple[list[PageContent], list[str]]:
    """(the pages without running headers, footers and page numbers, the texts taken out, each once)."""
    body = body_sizes(pages)
    found = [
        (where, edge) for index, page in enumerate(pages) for where, edge in _edge_lines(index, page, body)
    ]
    running = running_lines([edge for _, edge in found], len(pages))
    gone = {found[index][0] for index in running}
    total = sum(len(line.text.text) for page in pages for piece in page.pieces for line in piece.lines)
    taken = sum(len(found[index][1].text) for index in running)
    tables = any(piece.kind == "table" for page in pages for piece in page.pieces)
    if not gone or (taken > 0.5 * total and not tables):
        return list(pages), []  # pages that all say the same are no running lines
    kept = [_without(index, page, gone) for index, page in enumerate(pages)]
    texts = dict.fromkeys(found[index][1].text for index in sorted(running))
    return kept, list(texts)


Where = tuple[int, int, int]
"""(page, piece, line), all from 0."""


def _edge_lines(index: int, page: PageContent, body: dict[bool, float]) -> Iterator[tuple[Where, EdgeLine]]:
    """The lines near the upper and the lower edge of a page, those in heading type left out."""
    height = page.frame_height
    lines = [
        ((index, p, n), line)
        for p, piece in enumerate(page.pieces)
        if piece.kind == "text"
        for n, line in enumerate(piece.lines)
    ]
    for at_top in (True, False):
        depths = _depths([line.top for _, line in lines], at_top)
        for where, line in lines:
            distance = line.top if at_top else height - line.bottom
            level = depths.get(round(line.top / 4))
            if level is None or level >= DEPTH or distance > ZONE * height:
                continue
            ratio = LARGER_OCR if line.ocr else MUCH_LARGER
            if line.size <= ratio * body[line.ocr]:
                yield where, EdgeLine(page.number, line.text.text, at_top, distance)


def _depths(tops: Sequence[float], at_top: bool) -> dict[int, int]:
    """How many rows lie between each row and the edge; rows are told apart by steps of 4 points."""
    rows = sorted({round(top / 4) for top in tops}, reverse=not at_top)
    return {row: depth for depth, row in enumerate(rows)}


def _without(index: int, page: PageContent, gone: set[Where]) -> PageContent:
    pieces = []
    for p, piece in enumerate(page.pieces):
        lines = tuple(line for n, line in enumerate(piece.lines) if (index, p, n) not in gone)
        if lines or piece.kind == "table":
            pieces.append(replace(piece, lines=lines))
    return replace(page, pieces=tuple(pieces))


def parted_at_outline(pages: Sequence[PageContent], outline: Sequence[OutlineEntry]) -> list[PageContent]:
    """The pages with each line that the outline names as a piece of its own."""
    titles: dict[int, set[str]] = {}
    for entry in outline:
        titles.setdefault(entry.page, set()).add(_norm(entry.title))
    return [
        replace(page, pieces=tuple(part for piece in page.pieces for part in _parted(piece, named)))
        if (named := titles.get(page.number))
        else page
        for page in pages
    ]


def _parted(piece: Piece, titles: set[str]) -> list[Piece]:
    if piece.kind != "text" or len(piece.lines) < 2:
        return [piece]
    parts: list[tuple[PageLine, ...]] = []
    rest = start = 0
    while start < len(piece.lines):
        for end in range(start + 1, min(start + MAX_HEADING_LINES, len(piece.lines)) + 1):
            if _norm(join([line.text for line in piece.lines[start:end]]).text) in titles:
                parts += [piece.lines[rest:start], piece.lines[start:end]]
                rest = start = end
                break
        else:
            start += 1
    parts.append(piece.lines[rest:])
    return [replace(piece, lines=lines) for lines in parts if lines]


def body_sizes(pages: Sequence[PageContent]) -> dict[bool, float]:
    """The size in which most characters are set, for the text layer (False) and for OCR (True)."""
    counts: dict[bool, Counter[float]] = {False: Counter(), True: Counter()}
    for page in pages:
        for piece in page.pieces:
            if piece.kind == "text":
                for line in piece.lines:
                    counts[line.ocr][round(line.size * 2) / 2] += len(line.text.text)
    return {
        ocr: max(count, key=lambda size: (count[size], -size)) if count else 1.0
        for ocr, count in counts.items()
    }


def find_headings(pages: Sequence[PageContent], outline: Sequence[OutlineEntry]) -> Headings:
    """Headings by the outline, by type larger than the body's, and by bold type."""
    body = body_sizes(pages)
    entries = {(entry.page, _norm(entry.title)): entry.level for entry in outline}
    styles: dict[tuple[int, int], Style] = {}
    known: dict[Style, int] = {}
    levels: dict[tuple[int, int], int] = {}
    much_bold = _bold_share(pages) > 0.4
    for index, page in enumerate(pages):
        for p, piece in enumerate(page.pieces):
            if piece.kind != "text":
                continue
            style = _style(piece, body)
            level = _outline_level(piece, page.number, entries)
            if level:
                levels[index, p] = min(level, MAX_LEVEL)
                known[style] = min(level, known.get(style, MAX_LEVEL))
            elif _is_heading(piece, body[piece.lines[0].ocr], much_bold) or _is_plain_heading(
                piece, page.pieces[p + 1] if p + 1 < len(page.pieces) else None
            ):
                styles[index, p] = style
    ranks = _ranks(set(styles.values()) | set(known), known)
    levels.update({where: ranks[style] for where, style in styles.items()})
    return Headings(levels, _largest(pages, levels))


def _bold_share(pages: Sequence[PageContent]) -> float:
    lines = [line for page in pages for piece in page.pieces for line in piece.lines]
    total = sum(len(line.text.text) for line in lines)
    return sum(len(line.text.text) for line in lines if line.bold) / max(total, 1)


def _style(piece: Piece, body: dict[bool, float]) -> Style:
    size = max(line.size for line in piece.lines)
    if piece.lines[0].ocr:
        return round(size / body[True] * 4) / 4 * body[False], False, True
    return round(size * 2) / 2, piece.lines[0].bold, False


def _ranks(styles: set[Style], known: dict[Style, int]) -> dict[Style, int]:
    """Levels of styles, largest first; a level that the outline gives is kept."""
    ranks: dict[Style, int] = {}
    level = 0
    for style in sorted(styles, key=lambda s: (-s[0], not s[1], s[2])):
        level = known.get(style, min(level + 1, MAX_LEVEL))
        ranks[style] = level
    return ranks


def _norm(text: str) -> str:
    return _NUMBERING.sub("", _NOT_WORD.sub(" ", text.casefold()).strip()).replace(" ", "")


def _outline_level(piece: Piece, page: int, entries: dict[tuple[int, str], int]) -> int:
    if not entries or len(piece.lines) > MAX_HEADING_LINES:
        return 0
    words = _norm(join([line.text for line in piece.lines]).text)
    return entries.get((page, words), 0) or entries.get((0, words), 0)


def _is_heading(piece: Piece, body: float, much_bold: bool) -> bool:
    text = join([line.text for line in piece.lines]).text
    if len(piece.lines) > MAX_HEADING_LINES or len(text) > MAX_HEADING or not _LETTER.search(text):
        return False
    ratio = min(line.size for line in piece.lines) / max(body, 0.1)
    sentence = text[-1] in SENTENCE_MARKS and not regex.search(r"\b\p{Lu}?\.$", text[-2:])
    if piece.lines[0].ocr:
        return ratio >= LARGER_OCR and not sentence
    if ratio >= MUCH_LARGER:
        return True
    if sentence:
        return False
    return ratio >= LARGER or (all(line.bold for line in piece.lines) and ratio >= 0.95 and not much_bold)


def _is_plain_heading(piece: Piece, following: Piece | None) -> bool:
    """Whether a line in body type is a heading: numbered or in capitals, over a paragraph that is neither."""
    if len(piece.lines) != 1 or following is None or following.kind != "text":
        return False
    text, after = piece.lines[0].text.text, following.lines[0].text.text
    if len(text) > MAX_PLAIN_HEADING or text[-1] in SENTENCE_MARKS + "?" or len(after) < len(text):
        return False
    return any(kind.match(text) and not kind.match(after) for kind in (_NUMBERED, _CAPITALS))


def _largest(pages: Sequence[PageContent], levels: dict[tuple[int, int], int]) -> str:
    """The largest heading of the first page that has one; the first of equals."""
    if not levels:
        return ""
    first = min(index for index, _ in levels)
    sizes = {
        where: max(line.size for line in pages[first].pieces[where[1]].lines)
        for where in levels
        if where[0] == first
    }
    best = min(sizes, key=lambda where: (-sizes[where], where))
    lines: tuple[PageLine, ...] = pages[first].pieces[best[1]].lines
    return join([line.text for line in lines]).text
