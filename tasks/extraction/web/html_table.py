"""The grid of an HTML table, spans resolved (HTML Living Standard 4.9.12, "forming a table")."""

from collections.abc import Callable, Iterator

from lxml import etree

from pincite.tasks.extraction.base.text_builder import one_line
from pincite.tasks.extraction.web.html_visibility import name

# fmt: off
_LAYS_OUT = frozenset({"table", "article", "section", "form", "fieldset"})
_STRUCTURE = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "pre", "ul", "ol", "dl"})
# fmt: on
# fmt: off
_TABLE_PARTS = frozenset({
    "caption", "colgroup", "col", "thead", "tbody", "tfoot", "tr", "td", "th", "script", "style",
    "template",
})
# fmt: on
_CELL_WORDS = 600  # characters: a longer cell with headings or lists in it is a column of a page
MAX_SPAN = 1000  # colspan of the standard; it caps what a hostile cell may ask for
MAX_CELLS = 2_000_000

Rows = list[list[str]]


def is_data(table: etree._Element) -> bool:
    """Whether the table holds data. One with a single column, with tables in its cells, or with text beside
    them, only lays out the page: it is read as a flow of text. So does one with headings, lists or code in its
    cells, unless it names its columns or rows or looks like a grid of short cells."""
    if (table.get("role") or "").lower() in {"presentation", "none"}:
        return False
    inner = {name(element) for element in table.iterdescendants()}
    if inner & _LAYS_OUT:
        return False
    rows = [len(_cells(row)) for row in table.iter("tr")]
    if max(rows, default=0) < 2 or any(_stray(part) for part in _parts(table)):
        return False
    return not inner & _STRUCTURE or bool(inner & {"th", "thead", "caption"}) or _is_grid(table, rows)


def _is_grid(table: etree._Element, rows: list[int]) -> bool:
    """Two rows or more of as many cells, none of them long."""
    if len(rows) < 2 or sum(count > 1 for count in rows) < 2:
        return False
    return all(len(one_line("".join(map(str, cell.itertext())))) <= _CELL_WORDS for cell in table.iter("td"))


def grid(
    table: etree._Element, shows: Callable[[etree._Element], bool], words: Callable[[etree._Element], str]
) -> Rows:
    """Rows of equal length; a spanned cell's words stand in its first place, its other places are empty.

    Several header rows become one: per column the words from top to bottom, a spanning header's in each.
    Rows without a word are left out.
    """
    rows: Rows = []
    heads = 0
    spanned: dict[tuple[int, int], str] = {}
    budget = MAX_CELLS
    for row, left in _rows(table, shows):
        in_head = heads == len(rows) and _is_header(row)
        line: list[str] = []
        for cell in filter(shows, _cells(row)):
            _skip_spanned(line, spanned, len(rows))
            text = words(cell)
            width, height = _span(cell, "colspan", 1), min(_span(cell, "rowspan", left), left)
            budget -= width * height
            if budget < 0:
                width = height = 1
            again = text if in_head else ""
            for down in range(1, height):
                for right in range(width):
                    spanned[len(rows) + down, len(line) + right] = again
            line += [text, *[again] * (width - 1)]
        _skip_spanned(line, spanned, len(rows))
        rows.append(line)
        heads += in_head
    merged = _level(_one_header(rows, heads))
    return [row for number, row in enumerate(merged) if any(row) or (heads and number == 0)]


def _one_header(rows: Rows, heads: int) -> Rows:
    """The first `heads` rows as one."""
    if heads < 2 or heads >= len(rows):
        return rows
    width = max(len(row) for row in rows[:heads])
    columns = [[row[at] for row in rows[:heads] if at < len(row) and row[at]] for at in range(width)]
    return [[" ".join(dict.fromkeys(column)) for column in columns], *rows[heads:]]


def _level(rows: Rows) -> Rows:
    width = max((len(row) for row in rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


def _skip_spanned(line: list[str], spanned: dict[tuple[int, int], str], row: int) -> None:
    while (row, len(line)) in spanned:
        line.append(spanned.pop((row, len(line))))


def _is_header(row: etree._Element) -> bool:
    parent = row.getparent()
    if parent is not None and name(parent) == "thead":
        return True
    cells = _cells(row)
    return bool(cells) and all(name(cell) == "th" for cell in cells)


def _rows(
    table: etree._Element, shows: Callable[[etree._Element], bool]
) -> Iterator[tuple[etree._Element, int]]:
    """(row, rows left in its group, itself included) of this table in reading order; a foot comes last."""
    groups: list[list[etree._Element]] = []
    feet: list[list[etree._Element]] = []
    loose = False  # whether the last group is of rows that stand in no element of their own
    for child in filter(shows, table):
        tag = name(child)
        if tag == "tr":
            if not loose:
                groups.append([])
            groups[-1].append(child)
        elif tag in {"thead", "tbody", "tfoot"}:
            (feet if tag == "tfoot" else groups).append([row for row in child if shows(row)])
        loose = tag == "tr" or (loose and tag not in {"thead", "tbody", "tfoot"})
    for group in (*groups, *feet):
        yield from ((row, len(group) - at) for at, row in enumerate(group))


def _parts(table: etree._Element) -> Iterator[etree._Element]:
    """The table and all of it that may hold rows or cells, but no text."""
    yield table
    yield from table.iter("thead", "tbody", "tfoot", "tr", "colgroup")


def _stray(part: etree._Element) -> bool:
    """Whether text, or an element that is no part of a table, stands where only rows or cells may."""
    if (part.text or "").strip():
        return True
    return any((child.tail or "").strip() or name(child) not in _TABLE_PARTS for child in part)


def _cells(row: etree._Element) -> list[etree._Element]:
    return [cell for cell in row if name(cell) in {"td", "th"}]


def _span(cell: etree._Element, attribute: str, of_zero: int) -> int:
    """1 to `MAX_SPAN`; a row span of 0 reaches to the end of its group."""
    value = (cell.get(attribute) or "").strip()
    if not (value.isascii() and value.isdigit() and len(value) < 9):
        return 1
    return min(int(value) or of_zero, MAX_SPAN)
