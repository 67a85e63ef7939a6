"""Markdown (CommonMark with GFM tables): the canonical text is the decoded source itself.

Only `<sup>`, `<sub>`, `<del>` and `<s>` in it become the marks that all formats have (base/marks.py).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pincite.schemas.records import Block, BlockKind, Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.encoding import decode
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.marks import lowered, raised, struck
from pincite.tasks.extraction.text.plain import paragraphs

_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "list_item_open": "list",
}
"""Of what stands at the outermost level; everything else (block quotes, HTML, definitions) is a paragraph."""

# YAML between "---" or TOML between "+++", at the very start; its first line must be a key, because a
# thematic break may begin a document too.
_FRONT_MATTER = re.compile(
    r"(?:---[ \t]*\n(?=\s*[\w\"'-][^\n:]*:)|\+\+\+[ \t]*\n(?=\s*[\w\"'-][^\n=]*=))"
    r"(?P<body>(?:[^\n]*\n)*?)(?:---|\.\.\.|\+\+\+)[ \t]*(?:\n|\Z)"
)
_INLINE = re.compile(r"<(?P<tag>sup|sub|del|s|strike)>(?P<words>[^<>\n]{1,200})</(?P=tag)>", re.IGNORECASE)
_MARKS = {"sup": raised, "sub": lowered}
_TITLE_KEY = re.compile(r"^title[ \t]*[:=][ \t]*(?P<title>[^\n]+)$", re.MULTILINE | re.IGNORECASE)


def extract_markdown(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The decoded source. Title: the first level-1 heading, or the front matter's title, or ""."""
    progress(1)
    source, warnings = decode(path.read_bytes())
    text = with_marks(source)
    front = _FRONT_MATTER.match(text)
    blocks = tuple(markdown_blocks(text, front.end() if front else 0))
    first = next((block.title for block in blocks if block.kind == "heading" and block.level == 1), "")
    return Extraction(
        text=text,
        title=first or (_front_title(front["body"]) if front else ""),
        media_type="text/markdown",
        blocks=blocks,
        warnings=warnings,
    )


def markdown_blocks(text: str, body: int = 0) -> Iterator[Block]:
    """The blocks of `text` in order, a list as one block an item; what stands before `body` is front matter.

    Together they hold every character that is not white space.
    """
    yield from paragraphs(text, 0, body, "code")
    starts = _line_starts(text, body)
    parser = MarkdownIt("commonmark").enable("table")
    # Inline markup changes no block, and its worst cases cost the most.
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse(text[body:])
    at = body
    for kind, first, last, index in _outermost(tokens):
        start, end = starts[first], starts[last]
        yield from paragraphs(text, at, start)
        yield from _block(text, kind, start, end, tokens[index : index + 2])
        at = end
    yield from paragraphs(text, at, len(text))


def with_marks(source: str) -> str:
    """The source with raised, lowered and struck words as marks; code stays as it is written."""
    if not _INLINE.search(source):
        return source
    code = [block for block in markdown_blocks(source) if block.kind == "code"]
    parts: list[str] = []
    at = 0
    for match in _INLINE.finditer(source):
        start = match.start()
        block = bisect_right(code, start, key=attrgetter("start")) - 1
        ticks = source.count("`", source.rfind("\n", 0, start) + 1, start)
        if ticks % 2 or (block >= 0 and start < code[block].end):
            continue
        parts.append(source[at:start])
        mark = _MARKS.get(match["tag"].lower())
        before = "".join(parts[-2:])[-40:]
        parts.append(mark(match["words"], before) if mark else struck(match["words"]))
        at = match.end()
    return "".join((*parts, source[at:]))


def _outermost(tokens: Sequence[Token]) -> Iterator[tuple[BlockKind, int, int, int]]:
    """(kind, first line, line after the last, index of the token) of each outermost block or list item.

    An item of an outermost list is at level 1; nothing else of that type is.
    """
    for index, token in enumerate(tokens):
        depth = 1 if token.type == "list_item_open" else 0
        if token.level == depth and token.map and not token.type.endswith("_list_open"):
            yield _KINDS.get(token.type, "paragraph"), token.map[0], token.map[1], index


def _block(text: str, kind: BlockKind, start: int, end: int, tokens: Sequence[Token]) -> Iterator[Block]:
    if kind == "paragraph":
        yield from paragraphs(text, start, end)
        return
    lead = 0 if kind == "code" else len(text[start:end]) - len(text[start:end].lstrip())
    start, end = start + lead, start + len(text[start:end].rstrip())
    if kind == "heading":
        yield Block(kind, start, end, int(tokens[0].tag[1:]), _words(tokens[1].content))
    elif kind == "table":
        yield Block(kind, start, end, repeat=text[start:end].split("\n", 1)[0].strip())
    else:
        yield Block(kind, start, end)


def _words(markup: str) -> str:
    """A heading's words: without emphasis and link targets, images by their alternative text."""
    tokens = MarkdownIt("commonmark").parseInline(markup)[0].children or []
    return " ".join("".join(_visible(tokens)).split())


def _visible(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in {"text", "code_inline"}:
            yield token.content
        elif token.type in {"softbreak", "hardbreak"}:
            yield " "
        elif token.children:
            yield from _visible(token.children)


def _line_starts(text: str, body: int) -> list[int]:
    """Where each line of `text[body:]` starts in `text`, and at last the end of the text."""
    starts = [body, *(match.end() for match in re.compile("\n").finditer(text, body))]
    return [*starts, len(text)]


def _front_title(body: str) -> str:
    match = _TITLE_KEY.search(body)
    return match["title"].strip().strip("\"'") if match else ""
