"""JSON and JSON lines: a line of text for each value, with the path to it; its place is the JSON pointer (RFC 6901).

    {"part": {"id": 7}, "tags": ["a"]}   →   part.id: 7
                                             tags[0]: a

JSON lines count as an array of their lines: "/0" is the first line of the file.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from pincite.schemas.errors import LimitExceeded, Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.encoding import decode
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.text_builder import Piece, TextBuilder, one_line

DEPTH = 200  # levels of nesting; real files have a dozen
_LINES_SUFFIXES = (".jsonl", ".ndjson")
_TITLE_KEYS = ("title", "name")


class Literal(str):
    """A number, true, false or null as the file writes it."""


class Pairs(list[tuple[str, object]]):
    """An object with its keys in order, repeated keys included."""


def extract_json(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """Every value of the file. Raises `Unreadable` when no part of it is JSON, `LimitExceeded` by depth."""
    progress(1)
    text, warnings = decode(path.read_bytes())
    builder = TextBuilder()
    builder.add_warnings(warnings)
    lines = path.suffix.lower() in _LINES_SUFFIXES
    title = None if lines else _whole(builder, text)
    if title is None:
        _lines(builder, text)
        return builder.extraction("", "application/x-ndjson")
    return builder.extraction(title, "application/json")


def _whole(builder: TextBuilder, text: str) -> str | None:
    """Appends one JSON value and returns its title. None when the file is not one but looks like JSON lines."""
    try:
        value = _parse(text)
    except json.JSONDecodeError as error:
        if _looks_like_lines(text):
            return None
        raise Unreadable(
            f"not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}): it is damaged or cut off"
        ) from error
    for record, name, pointer in _records(value):
        _append(builder, record, name, pointer)
    if not isinstance(value, Pairs):
        return ""
    return next((found for key, found in value if key in _TITLE_KEYS and type(found) is str), "")


def _records(value: object) -> Iterator[tuple[object, str, str]]:
    """(record, readable path, pointer): elements of a root array, and of arrays of objects in a root object."""
    if not isinstance(value, Pairs):
        if isinstance(value, list) and value:
            yield from ((child, "", place) for child, _, place in _children(value, "", ""))
        else:
            yield value, "", ""
        return
    plain = Pairs()
    for key, child in value:
        if (
            isinstance(child, list)
            and not isinstance(child, Pairs)
            and any(isinstance(one, list) for one in child)
        ):
            if plain:
                yield plain, "", ""
            plain = Pairs()
            ((_, path, place),) = _children(Pairs([(key, child)]), "", "")
            yield from _children(child, path, place)
        else:
            plain.append((key, child))
    if plain or not value:
        yield plain, "", ""


def _lines(builder: TextBuilder, text: str) -> None:
    broken: list[str] = []
    read = 0
    for number, line in enumerate(text.split("\n")):
        if not line.strip():
            continue
        try:
            value = _parse(line)
        except json.JSONDecodeError as error:
            broken.append(f"{number + 1} ({error.msg}, column {error.colno})")
            continue
        _append(builder, value, "", f"/{number}")
        read += 1
    if broken and not read:
        raise Unreadable(f"no line is valid JSON; the first broken one is line {broken[0]}")
    for line in broken:
        builder.name("broken-line", "lines that are not valid JSON, not read", line)


def _looks_like_lines(text: str) -> bool:
    """Whether the first line that is not blank is a whole object or array, and others follow."""
    first, *others = [line for line in text.split("\n") if line.strip()][:2] or [""]
    try:
        return bool(others) and isinstance(_parse(first), list)
    except json.JSONDecodeError:
        return False


def _parse(text: str) -> object:
    try:
        return json.loads(
            text,
            object_pairs_hook=Pairs,
            parse_float=Literal,
            parse_int=Literal,
            parse_constant=Literal,
        )
    except RecursionError:
        _too_deep()


def _append(builder: TextBuilder, record: object, name: str, pointer: str) -> None:
    """One record: a block that is cut between its lines, around texts of several lines, which stay prose."""
    pieces: list[Piece] = []
    for path, place, value in _scalars(record, name, pointer):
        lead = f"{path}: " if path else ""
        if "\n" in value.strip():
            builder.run(pieces, "code", "entry", "\n")
            pieces = []
            builder.paragraph(f"{lead}{value.strip()}", label=place)
        else:
            pieces.append((lead + one_line(value), place))
    builder.run(pieces, "code", "entry", "\n")


def _scalars(record: object, name: str, pointer: str) -> Iterator[tuple[str, str, str]]:
    """(readable path, JSON pointer, text) of every value in order; empty objects and arrays are values."""
    stack = [(record, name, pointer, 0)]
    while stack:
        value, path, place, depth = stack.pop()
        if depth > DEPTH:
            _too_deep()
        if isinstance(value, list) and value:
            stack.extend(reversed([(*child, depth + 1) for child in _children(value, path, place)]))
        else:
            yield path, place, _text(value)


def _children(value: Sequence[object], path: str, place: str) -> Iterator[tuple[object, str, str]]:
    if isinstance(value, Pairs):
        for key, child in value:
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield child, f"{path}.{one_line(key)}" if path else one_line(key), f"{place}/{escaped}"
    else:
        for index, child in enumerate(value):
            yield child, f"{path}[{index}]", f"{place}/{index}"


def _text(value: object) -> str:
    if isinstance(value, Pairs):
        return "{}"
    if isinstance(value, list):
        return "[]"
    return value if isinstance(value, str) else json.dumps(value)


def _too_deep() -> NoReturn:
    raise LimitExceeded(f"the JSON is nested deeper than {DEPTH} levels: flatten it or split it into records")
