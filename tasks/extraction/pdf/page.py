"""One page of a PDF as pieces of text and tables in reading order.

text layer → hidden text out → enough to read? else OCR → ruled tables → gutters → unruled tables → paragraphs
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pypdfium2 as pdfium

from pincite.schemas.counting import counted
from pincite.schemas.errors import OcrUnavailable, Unreadable
from pincite.schemas.records import DocumentWarning
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.marks import STRUCK
from pincite.tasks.extraction.pages.layout import WordBox
from pincite.tasks.extraction.pages.margins import with_initials, without_line_numbers
from pincite.tasks.extraction.pages.table import Rule
from pincite.tasks.extraction.pdf.garbled import contradicts, is_garbled, is_scrambled
from pincite.tasks.extraction.pdf.line_text import hyphenated
from pincite.tasks.extraction.pdf.notes import page_notes
from pincite.tasks.extraction.pdf.page_ocr import (
    INK,
    MUCH_INK,
    Scanned,
    TurnedPart,
    can_be_seen,
    check_pictures,
    glance,
    ink_share,
    looks_written,
    scan,
    scan_picture,
    within,
)
from pincite.tasks.extraction.pdf.pdfplumber_check import MAX_OBJECTS, SecondReader, disagreement
from pincite.tasks.extraction.pdf.pieces import Piece, note_piece, pieces_of, turned
from pincite.tasks.extraction.pdf.shapes import Picture, Shapes, read_shapes
from pincite.tasks.extraction.pdf.struck import strike_marks, with_struck
from pincite.tasks.extraction.pdf.words import Group, Layer, PdfWord, read_layer

LARGE_PICTURE = 0.08  # of the page; smaller ones hold no text worth a reading
LITTLE_TEXT = 300  # characters: a page with fewer may be all in its pictures
MAX_PICTURES = 12  # of a page with a text layer that are read
SHOWN = 60  # characters of a text that a warning quotes


@dataclass(frozen=True, slots=True)
class PageContent:
    number: int
    width: float
    height: float
    pieces: tuple[Piece, ...]
    ocr: bool = False
    confidence: float | None = None
    kept: frozenset[str] = frozenset()  # words that are written with a hyphen
    warnings: tuple[DocumentWarning, ...] = ()
    frame_height: float = 0.0  # of the page as its text stands upright
    ocr_words: tuple[WordBox, ...] = ()  # on the upright page; for a sketch, not kept
    ocr_turn: float = 0.0  # degrees clockwise from there to the page as shown
    turned_parts: tuple[TurnedPart, ...] = ()  # of the upright page


@dataclass(slots=True)
class _Sheet:
    """What is known of a page while it is read."""

    number: int
    page: pdfium.PdfPage
    settings: Settings
    layer: Layer
    shapes: Shapes
    warnings: list[DocumentWarning] = field(default_factory=list)

    def warn(self, code: str, message: str) -> None:
        self.warnings.append(DocumentWarning(code, message, self.number))


def read(page: pdfium.PdfPage, number: int, settings: Settings, second: SecondReader) -> PageContent:
    """The page's content. Raises LimitExceeded (pixels), Unreadable (garbled and OCR fails), OcrUnavailable."""
    layer = read_layer(page, lambda: second.layers.off)
    sheet = _Sheet(number, page, settings, layer, read_shapes(page, layer.main.frame))
    if not sheet.shapes.complete:
        sheet.warn("many-objects", "too many drawn objects: ruled tables of this page were not looked for")
    groups = _visible(sheet)
    _compare(sheet, groups, second)
    if number == 1:
        second.rest()  # most files ask for no other page
    scanned = _scanned(sheet, groups)
    frame = layer.main.frame
    words: list[WordBox] = list(groups[0].words)
    rules: Sequence[Rule] = sheet.shapes.rules
    size = (frame.width, frame.height)
    turn = float(page.get_rotation() - frame.rotation)
    if scanned is not None and not words:
        size = (scanned.width, scanned.height)
        turn += scanned.turn
        rules = () if scanned.turned else rules
    words, rules = _with_struck(sheet, words, rules)
    if scanned is not None:
        words += scanned.words
    words = _running_text(sheet, words)
    pieces = turned(pieces_of(words, rules, size), turn)
    for group in groups[1:]:
        aside = pieces_of(group.words, (), (group.frame.width, group.frame.height))
        pieces += turned(aside, float(page.get_rotation() - group.frame.rotation))
    pieces += [note_piece(text) for text in page_notes(page)]
    shown = frame.turned(page.get_rotation())
    return PageContent(
        number=number,
        width=shown.width,
        height=shown.height,
        pieces=tuple(pieces),
        ocr=scanned is not None,
        confidence=scanned.confidence if scanned else None,
        kept=hyphenated(words),
        warnings=tuple(sheet.warnings),
        frame_height=size[1],
        ocr_words=scanned.words if scanned else (),
        ocr_turn=turn,
        turned_parts=scanned.parts if scanned else (),
    )


def _with_struck(
    sheet: _Sheet, words: Sequence[WordBox], rules: Sequence[Rule]
) -> tuple[list[WordBox], Sequence[Rule]]:
    kept, others, quoted = with_struck(words, rules, strike_marks(sheet.page, sheet.layer.main.frame))
    if quoted:
        code, message = STRUCK
        sheet.warn(code, f"{message}: {'; '.join(quoted)[:SHOWN]!r}")
    return kept, others


def _running_text(sheet: _Sheet, words: Sequence[WordBox]) -> list[WordBox]:
    """The words with initials put to their words, and without the numbers of lines."""
    kept, numbers = without_line_numbers(with_initials(words))
    if numbers:
        sheet.warn(
            "line-numbers",
            f"the numbers of lines in the margin, {numbers[0].text} to {numbers[-1].text}, were left out",
        )
    return kept


def _visible(sheet: _Sheet) -> list[Group]:
    """The groups of words without those that nobody sees, unless the settings ask for them."""
    groups = [sheet.layer.main, *sheet.layer.aside]
    if not any(word.hidden for group in groups for word in group.words):
        return groups
    kept, hidden = [], []
    for group in groups:
        seen = _seen(sheet, group)
        hidden += [word for word in group.words if word not in seen]
        kept.append(Group(group.frame, tuple(word for word in group.words if word in seen)))
    if not hidden:
        return groups
    reasons = ", ".join(sorted({word.hidden for word in hidden}))
    quoted = " ".join(word.text for word in hidden)[:SHOWN]
    include = sheet.settings.include_hidden_text
    sheet.warn(
        "hidden-text",
        f"{counted(len(hidden), 'word')} that can't be seen ({reasons}), "
        f"{'kept' if include else 'left out'}: {quoted!r}",
    )
    return groups if include else kept


def _compare(sheet: _Sheet, groups: list[Group], second: SecondReader) -> None:
    """Asks pdfplumber about the first of several pages and about pages in doubt; takes its words if more."""
    words = [word for group in groups for word in group.words]
    doubtful = is_garbled(words) if words else not sheet.layer.words
    asked = doubtful or (sheet.number == 1 and second.pages > 1)
    if not asked or sheet.shapes.objects > MAX_OBJECTS or not sheet.shapes.texts:
        return
    characters = sum(len(word.text) for word in sheet.layer.words)
    other = second.count(sheet.number, characters)
    if other is None or not (doubtful or disagreement(characters, other)):
        return
    # Its words are upright on the page as shown only.
    shown = sheet.layer.main.frame.rotation == sheet.page.get_rotation() % 360
    more = second.words(sheet.number) if shown and (doubtful or other > characters) else []
    if more and sum(len(word.text) for word in more) > 0.8 * max(characters, 1):
        groups[:] = [Group(groups[0].frame, tuple(more))]
    if disagreement(characters, other):
        taken = "pdfplumber's" if more else "pdfium's"
        sheet.warn(
            "disagreement",
            f"pdfium reads {counted(characters, 'character')}, pdfplumber {other}; {taken} were taken",
        )


def _seen(sheet: _Sheet, group: Group) -> set[PdfWord]:
    """The words of a group that can be seen; white ones are looked up in the page's image."""
    seen = {word for word in group.words if not word.hidden}
    white = [word for word in group.words if word.hidden == "white"]
    if white:
        check_pictures(sheet.shapes.pictures, sheet.settings, sheet.number)
        image, scale = glance(sheet.page, group.frame)
        seen.update(word for word in white if can_be_seen(image, scale, word))
    return seen


def _scanned(sheet: _Sheet, groups: list[Group]) -> Scanned | None:
    """What OCR reads, where the text layer does not do. Garbled words are taken out of `groups`."""
    words = [word for group in groups for word in group.words]
    if not words:
        return _of_empty(sheet)
    if is_garbled(words):
        return _instead_of_garbled(sheet, groups)
    try:
        if is_scrambled(words) and (result := _scan(sheet)) and contradicts(words, result.words):
            return _replaced(sheet, groups, result)
        found = [_in_place_of_unmapped(sheet, groups)] if any(word.unmapped for word in words) else []
        found += [_read_picture(sheet, picture, words) for picture in _to_be_read(sheet, words)]
    except OcrUnavailable as error:
        sheet.warn("picture-unread", f"a part that needs OCR was not read: {error}")
        return None
    read = [result for result in found if result.words]
    if not read:
        return None
    every = tuple(word for result in read for word in result.words)
    parts = tuple(part for result in read for part in result.parts)
    return replace(read[0], words=every, confidence=_confidence(every), turn=0.0, parts=parts)


def _confidence(words: Sequence[WordBox]) -> float:
    """Mean over characters, 0 to 100."""
    characters = sum(len(word.text) for word in words)
    return sum(len(word.text) * (word.confidence or 0) for word in words) / max(characters, 1)


def _in_place_of_unmapped(sheet: _Sheet, groups: list[Group]) -> Scanned:
    """Words of OCR where the text layer has a few characters without a meaning."""
    result = _scan(sheet)
    main = groups[0]
    lost = [word for word in main.words if word.unmapped]
    seen = () if result.turned else within(result.words, lost)
    mended = [word for word in lost if within(seen, [word])]
    groups[0] = Group(main.frame, tuple(word for word in main.words if word not in mended))
    left = sum(word.unmapped for group in groups for word in group.words)
    sheet.warn(
        "unmapped",
        f"{counted(len(mended), 'word')} with signs of unknown meaning read by OCR, "
        f"{counted(left, 'such sign')} left",
    )
    return replace(result, words=seen)


def _read_picture(sheet: _Sheet, picture: Picture, words: Sequence[PdfWord]) -> Scanned:
    """What OCR reads from the picture, without the words of the text layer that are printed over it."""
    result = scan_picture(sheet.page, sheet.layer.main.frame, sheet.number, sheet.settings, picture)
    sheet.warnings += result.warnings
    if result.turned:
        return result
    again = within(result.words, words)
    return replace(result, words=tuple(word for word in result.words if word not in again))


def _scan(sheet: _Sheet) -> Scanned:
    check_pictures(sheet.shapes.pictures, sheet.settings, sheet.number)
    frame, pictures = sheet.layer.main.frame, sheet.shapes.pictures
    result = scan(sheet.page, frame, sheet.number, sheet.settings, pictures=pictures)
    sheet.warnings += result.warnings
    return result


def _instead_of_garbled(sheet: _Sheet, groups: list[Group]) -> Scanned:
    result = _scan(sheet)
    if not result.words:
        raise Unreadable(
            f"the text of page {sheet.number} is garbled (its fonts do not say what their signs mean) and OCR "
            "read nothing; export the document again with embedded fonts",
            sheet.number,
        )
    return _replaced(sheet, groups, result)


def _replaced(sheet: _Sheet, groups: list[Group], result: Scanned) -> Scanned:
    sheet.warn("garbled", "its fonts do not say what their signs mean; read by OCR instead")
    groups[:] = [Group(group.frame, ()) for group in groups]
    return result


def _of_empty(sheet: _Sheet) -> Scanned | None:
    """What OCR reads from a page without a text layer; None for an empty page."""
    check_pictures(sheet.shapes.pictures, sheet.settings, sheet.number)
    image, _ = glance(sheet.page, sheet.layer.main.frame)
    ink = ink_share(image)
    if ink < INK:
        return None
    result = _scan(sheet)
    if not result.words and ink > MUCH_INK:
        sheet.warn("unread", f"{ink:.0%} of this page is ink, of which nothing could be read")
    return result if result.words else None


def _to_be_read(sheet: _Sheet, words: Sequence[PdfWord]) -> list[Picture]:
    """The pictures that OCR reads: charts and logos on a page of text say little, and cost more than the page."""
    pictures = _written_pictures(sheet, words)
    if not pictures or sheet.settings.ocr.pictures or sum(len(word.text) for word in words) < LITTLE_TEXT:
        return pictures
    many = counted(len(pictures), "picture with writing was", "pictures with writing were")
    sheet.warn(
        "pictures-unread", f"{many} not read: the page has text of its own; set ocr.pictures to read them"
    )
    return []


def _written_pictures(sheet: _Sheet, words: Sequence[PdfWord]) -> list[Picture]:
    """Large pictures without words of the text layer on them that look like writing."""
    frame = sheet.layer.main.frame
    large = []
    for picture in sheet.shapes.pictures:
        area = (picture.x1 - picture.x0) * (picture.bottom - picture.top)
        covered = sum(
            (w.x1 - w.x0) * (w.bottom - w.top)
            for w in words
            if picture.x0 <= (w.x0 + w.x1) / 2 <= picture.x1
            and picture.top <= (w.top + w.bottom) / 2 <= picture.bottom
        )
        if area > LARGE_PICTURE * frame.width * frame.height and covered < 0.05 * area:
            large.append(picture)
    if not large:
        return []
    check_pictures(large, sheet.settings, sheet.number)
    image, scale = glance(sheet.page, frame)
    return [picture for picture in large if looks_written(image, scale, picture)][:MAX_PICTURES]
