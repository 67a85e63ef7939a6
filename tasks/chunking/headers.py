"""The header of a chunk, `Title > Section > Deeper`, short enough to leave the window to the content."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import regex

SEPARATOR = " > "
_SHARE_PATH = 4  # title and section take at most a quarter of the window,
_SHARE_REPEAT = 3  # the header row of a table at most a third more
_PATH_LENGTHS = (80, 40, 20, 10)  # graphemes a part, tried in turn
_REPEAT_LENGTHS = (400, 200, 100, 50, 25)
_GRAPHEME = regex.compile(r"\X")
_PATH_FRAME = "[{}]\n"
_REPEAT_FRAME = SEPARATOR + "{}"

Path = tuple[str, ...]
Cost = Callable[[Sequence[str]], list[int]]
"""Word-pieces of each text without special tokens."""
Key = TypeVar("Key", bound=Hashable)


def embedded_text(header: str, content: str) -> str:
    """What is embedded: `[header]` on a line of its own, then the content."""
    return f"[{header}]\n{content}" if header else content


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of one document, each with its price in word-pieces."""

    paths: dict[Path, tuple[str, int]]
    repeats: dict[str, tuple[str, int]]

    def text(self, path: Path, repeat: str = "") -> str:
        """`Title > Section`, and behind it the header row of a table."""
        return SEPARATOR.join(filter(None, (self.paths[path][0], self.repeats[repeat][0])))

    def price(self, path: Path, repeat: str = "") -> int:
        """Word-pieces that the header adds to a chunk."""
        return self.paths[path][1] + self.repeats[repeat][1]


def fit_headers(
    title: str, paths: Iterable[Path], repeats: Iterable[str], cost: Cost, window: int
) -> Headers:
    """Headers for all `paths` under `title` and all `repeats` of tables.

    A path over a quarter of the window loses its middle ("Title > … > Section"), then the ends of its parts,
    then all; a header row over a third loses its end. The `section` of the chunk keeps the whole path.
    """
    return Headers(
        _fit({path: _shorter_paths(title, path) for path in paths}, _PATH_FRAME, cost, window // _SHARE_PATH),
        _fit(
            {repeat: _shorter_rows(" ".join(repeat.split())) for repeat in ("", *repeats)},
            _REPEAT_FRAME,
            cost,
            window // _SHARE_REPEAT,
        ),
    )


def _fit(
    candidates: dict[Key, Iterator[str]], frame: str, cost: Cost, limit: int
) -> dict[Key, tuple[str, int]]:
    """The first candidate of each key within `limit`, with its price."""
    fitted: dict[Key, tuple[str, int]] = {}
    waiting = dict(candidates)
    while waiting:
        tried = {key: next(shorter, "") for key, shorter in waiting.items()}
        prices = cost([frame.format(text) for text in tried.values()])
        for (key, text), price in zip(tried.items(), prices, strict=True):
            if price <= limit or not text:
                fitted[key] = (text, price if text else 0)
                del waiting[key]
    return fitted


def _shorter_paths(title: str, path: Path) -> Iterator[str]:
    parts = [part for part in (" ".join(part.split()) for part in (title, *path)) if part]
    if len(parts) > 1 and parts[0] == parts[1]:  # a document named by its first heading
        del parts[0]
    yield SEPARATOR.join(parts)
    ends = parts if len(parts) < 3 else [parts[0], "…", parts[-1]]
    yield SEPARATOR.join(ends)
    for length in _PATH_LENGTHS:
        yield SEPARATOR.join(_cut(part, length) for part in ends)
    yield _cut(ends[-1], _PATH_LENGTHS[-1]) if ends else ""


def _shorter_rows(row: str) -> Iterator[str]:
    yield row
    for length in _REPEAT_LENGTHS:
        yield _cut(row, length)


def _cut(text: str, length: int) -> str:
    """At most `length` graphemes, an ellipsis for what is left out."""
    head = [match.group() for _, match in zip(range(length + 1), _GRAPHEME.finditer(text), strict=False)]
    return text if len(head) <= length else "".join(head[: length - 1]).rstrip() + "…"
