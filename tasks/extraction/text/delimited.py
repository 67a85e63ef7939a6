"""Delimited text (CSV, TSV): one sheet named like the file, a place of cells for each row."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.encoding import decode
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.sheet_blocks import SheetRow, append_sheet
from pincite.tasks.extraction.base.text_builder import TextBuilder

MEDIA_TYPES = {".tsv": "text/tab-separated-values"}

_DELIMITERS = ",;\t|"
_SAMPLE_RECORDS = 200
_QUOTED_LINES = 50  # that one field may hold where the quoting is broken
_SEPARATOR_LINE = "sep="  # Excel's own first line, which names the delimiter and is not shown


def extract_delimited(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The rows of the file. Raises `Unreadable` when its text can't be decoded or holds nothing."""
    progress(1)
    text, warnings = decode(path.read_bytes())
    delimiter, text, skipped = _delimiter(path, text)
    builder = TextBuilder()
    builder.add_warnings(warnings)
    append_sheet(builder, path.stem, _rows(builder, text, delimiter, skipped))
    media_type = MEDIA_TYPES.get(path.suffix.lower(), "text/csv")
    return builder.extraction("", media_type)


def _delimiter(path: Path, text: str) -> tuple[str, str, int]:
    """(delimiter, the text that it delimits, rows skipped before it)."""
    first, _, rest = text.partition("\n")
    if first.lower().startswith(_SEPARATOR_LINE) and len(first) == len(_SEPARATOR_LINE) + 1:
        return first[-1], rest, 1
    if path.suffix.lower() == ".tsv":
        return "\t", text, 0
    return sniff_delimiter(text), text, 0


def sniff_delimiter(text: str) -> str:
    """The delimiter under which most records have the same number of fields, more than one; "," otherwise.

    Records, not lines: a quoted field may hold line ends and delimiters. (`csv.Sniffer` takes letters for
    delimiters and fails on quoted line ends.) At a draw the comma loses: it also stands in numbers and prose.
    """
    return max(_DELIMITERS, key=lambda delimiter: _agreement(text, delimiter))


def _agreement(text: str, delimiter: str) -> tuple[float, bool, int]:
    """(share of records with the commonest number of fields, no comma, that number); zeros for one column.

    Half the share when the first record, the header, is not parted: "name;price" above "pump;1,5".
    """
    sample = list(islice(_tolerant(text, delimiter), _SAMPLE_RECORDS))
    lengths = Counter(len(record) for record in sample if record)
    fields, count = max(lengths.items(), key=lambda item: (item[1], item[0]), default=(0, 0))
    if fields < 2:
        return 0.0, False, 0
    share = count / lengths.total()
    return share if len(sample[0]) > 1 else share / 2, delimiter != ",", fields


def _tolerant(text: str, delimiter: str) -> Iterator[list[str]]:
    """Records up to the first that can't be parsed at all."""
    with suppress(csv.Error):
        yield from _reader(text, delimiter)


def _rows(builder: TextBuilder, text: str, delimiter: str, skipped: int) -> Iterator[SheetRow]:
    """Rows as a spreadsheet program would number them: one a record, empty ones included."""
    width = 0
    for number, record in enumerate(_records(builder, text, delimiter), start=1 + skipped):
        cells = {column: cell for column, cell in enumerate(record, start=1) if cell.strip()}
        if len(record) != width and width and len(record) > 1:
            builder.name("uneven-rows", f"rows that have not the {width} fields of the first", str(number))
        width = width or (len(record) if len(record) > 1 else 0)
        yield SheetRow(number, cells)


def _records(builder: TextBuilder, text: str, delimiter: str) -> Iterable[list[str]]:
    """All records. Where the quotes do not fit together, a stray one would swallow the rows after it."""
    try:
        return list(_reader(text, delimiter, strict=True))
    except csv.Error as error:
        builder.warn("unbalanced-quotes", f"quotation marks do not fit together ({error}): read line by line")
        return _line_by_line(text.split("\n"), delimiter)


def _line_by_line(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    """Records of broken quoting: a line with an open quote goes on only if its record comes out as wide."""
    width = max((len(_parsed(line, delimiter)) for line in lines if not line.count('"') % 2), default=1)
    at = 0
    while at < len(lines):
        taken, record = 1, _parsed(lines[at], delimiter)
        if lines[at].count('"') % 2:
            end = next((n for n in range(at + 1, len(lines))[:_QUOTED_LINES] if lines[n].count('"') % 2), at)
            joined = _strictly("\n".join(lines[at : end + 1]), delimiter)
            if end > at and len(joined) == width:
                taken, record = end + 1 - at, joined
            else:
                record = lines[at].split(delimiter)
        if record or at + taken < len(lines):
            yield record
        at += taken


def _strictly(text: str, delimiter: str) -> list[str]:
    """The fields of `text`, none when its quotes do not fit together or it is more than one record."""
    try:
        records = list(_reader(text, delimiter, strict=True))
    except csv.Error:
        return []
    return records[0] if len(records) == 1 else []


def _parsed(text: str, delimiter: str) -> list[str]:
    return next(iter(_reader(text, delimiter)), [])


def _reader(text: str, delimiter: str, strict: bool = False) -> Iterator[list[str]]:
    # A field may be as long as the file; the module's own limit is 128 KiB.
    csv.field_size_limit(max(len(text) + 1, 1 << 17))
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)
