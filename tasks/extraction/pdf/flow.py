"""Text that runs on: from line to line within a page, and from one page to the next."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import regex

from pincite.tasks.extraction.pages.running_lines import ZONE
from pincite.tasks.extraction.pdf.line_text import HYPHENS, Text, join
from pincite.tasks.extraction.pdf.page import PageContent
from pincite.tasks.extraction.pdf.pieces import PageLine, Piece

MIN_SEALED = 250  # characters; shorter pieces may be headings, whose lines are looked at again

_FIRST_WORD = regex.compile(r"\p{Ll}\S*")


def sealed(page: PageContent) -> PageContent:
    """The page with the inner lines of long paragraphs put together: a page then costs little more than its text.

    Lines near the edges stay apart, since they may be running lines.
    """
    top, bottom = ZONE * page.frame_height, (1 - ZONE) * page.frame_height
    return replace(page, pieces=tuple(_sealed(piece, page.kept, top, bottom) for piece in page.pieces))


def _sealed(piece: Piece, kept: frozenset[str], top: float, bottom: float) -> Piece:
    if piece.kind != "text" or len(piece.lines) < 3 or _length(piece) < MIN_SEALED:
        return piece
    lines: list[PageLine] = []
    inner: list[PageLine] = []
    for line in piece.lines[1:-1]:
        if top < line.top and line.bottom < bottom:
            inner.append(line)
            continue
        lines += _one(inner, kept)
        inner = []
        lines.append(line)
    return replace(piece, lines=(piece.lines[0], *lines, *_one(inner, kept), piece.lines[-1]))


def _length(piece: Piece) -> int:
    return sum(len(line.text.text) for line in piece.lines)


def _one(lines: Sequence[PageLine], kept: frozenset[str]) -> list[PageLine]:
    if not lines:
        return []
    return [
        replace(
            lines[0],
            text=join([line.text for line in lines], kept),
            bottom=lines[-1].bottom,
            x0=min(line.x0 for line in lines),
            x1=max(line.x1 for line in lines),
        )
    ]


def with_whole_words(pages: Iterable[PageContent]) -> Iterator[PageContent]:
    """The pages; a word that a hyphen parts over two of them stands whole on the first."""
    before: PageContent | None = None
    for page in pages:
        following = page
        if before is not None:
            before, following = _mended(before, page)
            yield before
        before = following
    if before is not None:
        yield before


def _mended(before: PageContent, page: PageContent) -> tuple[PageContent, PageContent]:
    last = max((i for i, piece in enumerate(before.pieces) if piece.kind == "text"), default=-1)
    if last < 0 or not page.pieces or page.pieces[0].kind != "text":
        return before, page
    end, start = before.pieces[last].lines[-1], page.pieces[0].lines[0]
    word = _FIRST_WORD.match(start.text.text)
    if word is None or end.text.text[-1:] not in HYPHENS or not end.text.text[-2:-1].isalpha():
        return before, page
    length = word.end()
    head = Text(word[0], tuple(s for s in start.text.spans if s.end <= length))
    cut = length + len(start.text.text[length:]) - len(start.text.text[length:].lstrip())
    rest = Text(
        start.text.text[cut:],
        tuple(span.moved(-cut) for span in start.text.spans if span.start >= cut),
    )
    whole = replace(end, text=join([end.text, head], before.kept | page.kept))
    return (
        _with_piece(before, last, (*before.pieces[last].lines[:-1], whole)),
        _with_piece(
            page, 0, (*([replace(start, text=rest)] if rest.text else []), *page.pieces[0].lines[1:])
        ),
    )


def _with_piece(page: PageContent, index: int, lines: tuple[PageLine, ...]) -> PageContent:
    piece = replace(page.pieces[index], lines=lines)
    return replace(
        page, pieces=(*page.pieces[:index], *([piece] if lines else []), *page.pieces[index + 1 :])
    )
