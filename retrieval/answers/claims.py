"""The claims of an answer: its sentences, items and table rows, as stretches of its Markdown."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Span = tuple[int, int]

_FENCE = re.compile(r"^[ \t>]*(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)$", re.MULTILINE)
_INLINE = re.compile(r"(?<![`\\])(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_PROSE = frozenset({"markdown", "md"})  # whole answers come wrapped in such a fence

_SKIPPED = re.compile(
    r"[ \t>]*(?:\#{1,6}(?:\s|$)"  # heading
    r"|\*\*[^*\n]+[^*\n.!?]\*\*:?\s*$|__[^_\n]+[^_\n.!?]__:?\s*$"  # a line in bold that heads what follows
    r"|\[[^\[\]\n]+\]:\s*\S+\s*$)"  # link definition
)
_ITEM = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,4}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_QUOTE = re.compile(r"[ \t]*>[ \t>]*")
_RULE_ROW = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")

_TERMINALS = ".!?…。\uff01\uff1f｡।\u06d4؟"
_NO_SPACE_AFTER = "。\uff01\uff1f｡"
_FOLLOWING = re.compile(r"\s*(\S)")
_CLOSERS = "\"'”’»)*_」』\uff09"
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:\w|e\.g|i\.e|etc|cf|vs|approx|ca|no|nos|fig|figs|sec|ch|p|pp|vol|ed|eq|ref|al|st|mr|mrs|ms|dr"
    r"|prof|max|min|temp|bl\.a|t\.ex|z\.B|d\.h|bzw|Nr|ст|рис|див|напр)$",
    re.IGNORECASE,
)
_ABOUT_SOURCES = re.compile(
    r"\bsources?\b[^.]{0,60}(?:\bnot\b|n['’]t\b|\bno\b|\bnone\b|\bnothing\b)|"
    r"\b(?:none|neither|nothing)\b[^.]{0,30}\bsources?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Code:
    """`blocks` are whole fences, `spans` are inline; both as stretches with their delimiters."""

    blocks: tuple[Span, ...]
    spans: tuple[Span, ...]

    def holds(self, at: int) -> bool:
        return any(start <= at < end for start, end in (*self.blocks, *self.spans))


def code_of(text: str) -> Code:
    """Where code stands. A fence that is never closed is no code: nothing may hide behind it."""
    blocks: list[Span] = []
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif (
            match["fence"][0] == opened["fence"][0]
            and len(match["fence"]) >= len(opened["fence"])
            and not match["info"].strip()
        ):
            if opened["info"].strip().lower() in _PROSE:
                blocks += [opened.span(), match.span()]
            else:
                blocks.append((opened.start(), match.end()))
            opened = None
    spans = [
        match.span()
        for match in _INLINE.finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in blocks)
    ]
    return Code(tuple(blocks), tuple(spans))


def claims_of(text: str, code: Code, marks: Sequence[Span]) -> list[Span]:
    """The claims in order, each with the citations behind it. `marks`: where the citations stand.

    Headings, code blocks, questions, lines that lead in what follows (":") and the statement that the sources
    do not hold the answer are no claims.
    """
    return [
        span
        for start, end, whole in _units(text, code)
        for span in ([(start, end)] if whole else _sentences(text, start, end, code, marks))
        if _claims(text, span, marks)
    ]


def _units(text: str, code: Code) -> Iterator[tuple[int, int, bool]]:
    """(start, end, whether it is one claim): paragraphs and items, and rows of tables without their headers."""
    lines = list(_lines(text))
    begin: int | None = None
    end = 0
    for number, (start, stop) in enumerate(lines):
        line = text[start:stop]
        following = text[slice(*lines[number + 1])] if number + 1 < len(lines) else ""
        row = line.count("|") >= 2 or (_is_rule(line) and "|" in line)
        in_code = any(low <= start < high for low, high in code.blocks)
        apart = in_code or not line.strip(" \t>") or _SKIPPED.match(line) or _is_rule(line) or row
        item = _ITEM.match(line)
        if begin is not None and (apart or item):
            yield begin, end, False
            begin = None
        if row and not in_code and not _is_rule(line) and not _is_rule(following):
            yield start, stop, True
        if not apart:
            if begin is None:
                prefix = item or _QUOTE.match(line)
                begin = start + (prefix.end() if prefix else 0)
            end = stop
    if begin is not None:
        yield begin, end, False


def _is_rule(line: str) -> bool:
    """A separator of a table, a thematic break or the underline of a heading."""
    bare = line.strip(" \t>")
    return bool(bare) and (bool(_RULE_ROW.match(line)) or (len(bare) >= 3 and not bare.strip("-*_= ")))


def _lines(text: str) -> Iterator[Span]:
    at = 0
    for line in text.split("\n"):
        yield at, at + len(line)
        at += len(line) + 1


def _sentences(text: str, start: int, end: int, code: Code, marks: Sequence[Span]) -> Iterator[Span]:
    """`[start, end)` cut at the ends of its sentences; a citation behind one belongs to it."""
    ends = dict(_within(marks, start, end))
    closed = {low: high for low, high in code.spans if start <= low < end} | ends
    begin = at = start
    while at < end:
        if at in closed:
            at = max(closed[at], at + 1)
        elif text[at] in _TERMINALS and (stop := _sentence_end(text, begin, at, end, ends)):
            yield begin, stop
            begin = at = stop
        else:
            at += 1
    yield begin, end


def _sentence_end(text: str, begin: int, at: int, end: int, ends: Mapping[int, int]) -> int:
    """Where the sentence with the terminal at `at` ends, with the citations behind it; 0 when it goes on."""
    stop = at + 1
    while stop < end and text[stop] in _TERMINALS + _CLOSERS:
        stop += 1
    after, cited = _over_marks(text, stop, end, ends)
    following = _FOLLOWING.match(text, after, end)
    lower = following is not None and following[1].islower()
    if cited and lower and text[stop].isspace():
        after, cited = stop, False  # "… of oil. [2] says that …": the number belongs to what follows
        lower = False
    if not (after >= end or text[after].isspace() or cited or text[at] in _NO_SPACE_AFTER):
        return 0
    if text[at] == "." and (lower or (not cited and _abbreviated(text[max(begin, at - 12) : at]))):
        return 0
    return after


def _abbreviated(before: str) -> bool:
    return _ABBREVIATION.search(before) is not None


def _over_marks(text: str, at: int, end: int, ends: Mapping[int, int]) -> tuple[int, bool]:
    """(where the citations that follow `at` on its line end, whether there are any)."""
    cited = False
    while True:
        ahead = at
        while ahead < end and text[ahead] in " \t,":
            ahead += 1
        if ahead not in ends:
            return at, cited
        at, cited = ends[ahead], True


def _within(marks: Sequence[Span], start: int, end: int) -> Sequence[Span]:
    """Those of `marks`, in order, that begin in `[start, end)`."""
    return marks[bisect_left(marks, (start, 0)) : bisect_left(marks, (end, 0))]


def _claims(text: str, span: Span, marks: Sequence[Span]) -> bool:
    start, end = span
    words = list(text[start:end])
    for low, high in _within(marks, start, end):
        words[low - start : high - start] = " " * (min(high, end) - low)
    bare = "".join(words).strip().rstrip("\"'”’»)*_ ")
    if not any(map(str.isalnum, bare)) or bare.endswith(("?", ":", "\uff1f", "\uff1a", "؟")):
        return False
    return not _ABOUT_SOURCES.search(bare)
