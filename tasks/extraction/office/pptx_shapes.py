"""What DrawingML shapes hold: text bodies, tables, charts. ECMA-376 part 1, 21.1 (DrawingML text), 21.2 (charts)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree
from openpyxl.styles.numbers import is_date_format
from openpyxl.utils.datetime import from_excel

from pincite.tasks.extraction.base.marks import DrawnRun, Position, struck_words, written
from pincite.tasks.extraction.base.text_builder import one_line
from pincite.tasks.extraction.office.docx_styles import format_number
from pincite.tasks.extraction.office.number_format import shown
from pincite.tasks.extraction.office.word_formulas import M, formula

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"

_NUMBERS = {
    "arabic": "decimal",
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}
_COLUMNS = 1_000  # of a table: a hostile span stays small


@dataclass(frozen=True, slots=True)
class Words:
    """One paragraph of a text body."""

    text: str
    level: int = 0  # 0 is the outermost
    bullet: bool | None = None  # None: as the layout has it
    mark: str = ""  # the number of a numbered point, as shown


def text_body(body: etree._Element) -> Iterator[Words]:
    """Paragraphs that hold anything, with their level and their bullet or number."""
    counts: dict[int, int] = {}
    for paragraph in body.iterchildren(f"{A}p"):
        text = written(_runs(paragraph)).strip()
        properties = paragraph.find(f"{A}pPr")
        level = int(properties.get("lvl", "0")) if properties is not None else 0
        numbered = properties.find(f"{A}buAutoNum") if properties is not None else None
        counts = {deeper: count for deeper, count in counts.items() if deeper <= level}
        if not text:
            continue
        if numbered is None:
            counts.pop(level, None)
            yield Words(text, level, _bullet(properties))
        else:
            counts[level] = counts.get(level, int(numbered.get("startAt", "1")) - 1) + 1
            yield Words(text, level, True, _number(counts[level], numbered.get("type", "")))


def struck_text(root: etree._Element) -> list[str]:
    """What below `root` has a line through it."""
    return [words for paragraph in root.iter(f"{A}p") for words in struck_words(_runs(paragraph))]


def table_rows(grid: etree._Element) -> list[list[str]]:
    """Rows of cells; a merged cell has its text at its upper left corner."""
    rows = []
    for row in grid.iterchildren(f"{A}tr"):
        cells = []
        for cell in row.iterchildren(f"{A}tc"):
            covered = "1" in (cell.get("hMerge"), cell.get("vMerge"))
            body = cell.find(f"{A}txBody")
            texts = [words.text for words in text_body(body)] if body is not None and not covered else []
            cells.append(one_line(" ".join(texts)))
        rows.append(cells[:_COLUMNS])
    return rows if any(any(row) for row in rows) else []


def chart_rows(chart: etree._Element) -> tuple[str, list[list[str]]]:
    """(title, table): a row for each category, a column for each series, as stored in the chart."""
    heading = chart.find(f"{C}chart/{C}title")
    title = "".join(text.text or "" for text in heading.iter(f"{A}t")) if heading is not None else ""
    columns: list[tuple[str, dict[int, str]]] = []
    categories: dict[int, str] = {}
    for series in chart.iter(f"{C}ser"):
        values = series.find(f"{C}val")
        points = _points(values if values is not None else series.find(f"{C}yVal"))
        names = series.find(f"{C}cat")
        categories |= _points(names if names is not None else series.find(f"{C}xVal"))
        named = series.find(f"{C}tx")
        name = " ".join(_points(named).values()) or ("" if named is None else named.findtext(f"{C}v") or "")
        columns.append((name, points))
    indices = sorted(set(categories).union(*(points for _, points in columns)))
    if not indices:
        return title, []
    rows = [["", *(name for name, _ in columns)]]
    rows += [
        [categories.get(index, ""), *(points.get(index, "") for _, points in columns)] for index in indices
    ]
    return title, rows


def _runs(element: etree._Element) -> Iterator[DrawnRun]:
    position, struck = _ink(element.find(f"{A}rPr")) if element.tag == f"{A}r" else ("", False)
    for child in element:
        if child.tag == f"{A}t":
            yield DrawnRun(child.text or "", position, struck)
        elif child.tag == f"{M}oMath":
            yield DrawnRun(formula(child))
        elif child.tag == f"{A}br":
            yield DrawnRun("\n")
        elif child.tag == f"{MC}AlternateContent":
            choices = (list(_runs(choice)) for choice in child)
            yield from next((runs for runs in choices if any(run.text for run in runs)), [])
        elif child.tag not in (f"{A}pPr", f"{A}rPr", f"{A}endParaRPr"):
            yield from _runs(child)


def _ink(properties: etree._Element | None) -> tuple[Position, bool]:
    """(raised or lowered, struck) of a run: ECMA-376 part 1, 21.1.2.3.9."""
    if properties is None:
        return "", False
    raised_by = properties.get("baseline", "0").rstrip("%")  # "30%" in the strict form
    lifted = float(raised_by) if re.fullmatch(r"-?\d{1,9}(?:\.\d{1,9})?", raised_by) else 0.0
    position: Position = "raised" if lifted > 0 else "lowered" if lifted < 0 else ""
    return position, properties.get("strike", "noStrike") != "noStrike"


def _bullet(properties: etree._Element | None) -> bool | None:
    if properties is None:
        return None
    if properties.find(f"{A}buNone") is not None:
        return False
    return True if properties.find(f"{A}buChar") is not None else None


def _number(count: int, style: str) -> str:
    """ST_TextAutonumberScheme, 20.1.10.61: "alphaLcParenR" is "a)"."""
    base = next((name for name in _NUMBERS if style.startswith(name)), "arabic")
    number = format_number(count, _NUMBERS[base])
    ends = {"ParenBoth": ("(", ")"), "ParenR": ("", ")"), "Plain": ("", "")}
    before, after = ends.get(style.removeprefix(base), ("", "."))
    return f"{before}{number}{after}"


def _points(data: etree._Element | None) -> dict[int, str]:
    """By index: the cached values of a chart's reference or literal; of several levels, all of a point's."""
    points: dict[int, str] = {}
    for point in data.iter(f"{C}pt") if data is not None else ():
        index, value = int(point.get("idx", "0")), _point(point)
        points[index] = f"{value} {points[index]}" if index in points else value
    return points


def _point(point: etree._Element) -> str:
    """Numbers and dates as the chart's own number format shows them."""
    value = point.findtext(f"{C}v") or ""
    cache = point.getparent()
    if cache is None or cache.tag not in (f"{C}numCache", f"{C}numLit"):
        return value
    code = point.get("formatCode") or cache.findtext(f"{C}formatCode") or "General"
    try:
        number = float(value)
        moment = from_excel(number) if is_date_format(code) else None
    except (ValueError, OverflowError):
        return value
    return shown(number if moment is None else moment, code)
