"""What the numbers of an answer stand for, and what of it stands on nothing.

`[n]`, `[1, 2]`, `[1][3]`, `[1-3]`, `[1 and 2]`, `[source 1]`, `【1】` and `[^1]` are citations. In code, behind a
backslash or as the text of an image they are none. What can't be resolved is listed, never linked.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pincite.retrieval.answers.citations import Citation
from pincite.retrieval.answers.claims import Code, Span, claims_of, code_of
from pincite.retrieval.answers.links import Link, links_of
from pincite.schemas.counting import counted
from pincite.schemas.locators import overlapping

Kind = Literal["number", "claim", "link", "unclear", "quote"]

_BRACKET = re.compile(r"(?<!\\)[\[【\uff3b](?P<inside>[^\[\]【】\uff3b\uff3d\n]{1,200})(?<!\\)[\]】\uff3d]")
_WORD = r"(?:sources?|refs?\.?|citations?|№|#|\^)"
_NUMBER = rf"(?:{_WORD}\s*)?(\d+)(?:\^)?"
_DASH = r"[-\u2010\u2011\u2012–—\u2212~]|\.\.|…|to\b"
_PART = re.compile(rf"\s*{_NUMBER}(?:\s*(?:{_DASH})\s*{_NUMBER})?\s*", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,;&/+、\uff0c\uff1b]|\b(?:and|or|och|und|et|та|\u0456)\b", re.IGNORECASE)
_STARTS_LIKE_ONE = re.compile(rf"\s*(?:{_WORD}\s*)?\d{{1,3}}\s*(?:[,;:†|]|p\.|pp\.|page\b|$)", re.IGNORECASE)
_DIGITS = 9  # longer numbers name no source, whatever they are


@dataclass(frozen=True, slots=True)
class Unresolved:
    """One thing in an answer that stands on nothing, with its place there (-1 when it has none)."""

    kind: Kind
    text: str
    reason: str
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Mark:
    """One bracket of an answer and the sources that it names, all of which exist."""

    start: int
    end: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    marks: tuple[Mark, ...]
    cited: tuple[int, ...]  # numbers in the order in which they are first used
    unresolved: tuple[Unresolved, ...]  # in the order of the text


def resolve(answer: str, citations: Sequence[Citation]) -> Resolved:
    """Each citation of the answer by its numbers, and every number, claim and link without a source."""
    code, links = code_of(answer), links_of(answer)
    known = {one.index for one in citations}
    marks: list[Mark] = []
    brackets: list[Span] = []
    unresolved = [_link(answer, link, citations) for link in links]
    for match in _brackets(answer, code, links):
        numbers, faults = _numbers(match["inside"], known)
        if numbers is None and not faults:
            continue
        brackets.append(match.span())
        unresolved += [Unresolved(kind, match[0], reason, *match.span()) for kind, reason in faults]
        if numbers:
            marks.append(Mark(*match.span(), tuple(numbers)))
    unresolved += [
        Unresolved("claim", " ".join(answer[start:end].split()), "no source is named for it", start, end)
        for start, end in claims_of(answer, code, brackets)
        if not overlapping(marks, start, end)
    ]
    cited = dict.fromkeys(number for mark in marks for number in mark.numbers)
    return Resolved(
        tuple(marks), tuple(cited), tuple(sorted(unresolved, key=lambda one: (one.start, one.end)))
    )


def _brackets(answer: str, code: Code, links: Sequence[Link]) -> Iterator[re.Match[str]]:
    """Brackets that may be citations. `[1](address)` still names source 1; an image or definition does not."""
    for match in _BRACKET.finditer(answer):
        link = next((one for one in links if one.start <= match.start() < one.end), None)
        named = link is None or (link.start == match.start() and answer[match.end() : match.end() + 1] == "(")
        if named and not code.holds(match.start()):
            yield match


def _numbers(inside: str, known: set[int]) -> tuple[list[int] | None, list[tuple[Kind, str]]]:
    """(the existing sources that a bracket names, its faults); (None, []) when it is no citation."""
    plain = "".join(c for c in unicodedata.normalize("NFKC", inside) if unicodedata.category(c) != "Cf")
    parts = [_PART.fullmatch(part) for part in _SEPARATOR.split(plain)]
    if not all(parts):
        if _STARTS_LIKE_ONE.match(plain):
            return None, [("unclear", "begins like a citation, but is no list of numbers")]
        return None, []
    numbers: dict[int, None] = {}
    faults: list[tuple[Kind, str]] = []
    for part in parts:
        assert part is not None
        found, fault = _range(part[1], part[2] or part[1], known)
        numbers |= dict.fromkeys(found)
        if fault:
            faults.append(("number", fault))
    return list(numbers), faults


def _range(first: str, last: str, known: set[int]) -> tuple[list[int], str]:
    """(those of first to last that exist, a word on those that do not)."""
    told = first if first == last else f"{first}-{last}"
    most = max(known, default=0)
    sources = f"there {'is' if most == 1 else 'are'} {counted(most, 'source')}"
    if max(len(first), len(last)) > _DIGITS:
        return [], f"no source has the number {told[:20]}…: {sources}"
    low, high = int(first), int(last)
    if low > high:
        return [], f"{told} runs backwards"
    found = [number for number in range(max(low, 1), min(high, most) + 1) if number in known]
    if len(found) == high - low + 1:
        return found, ""
    return found, f"no source has the number {told}: {sources}" if not found else (
        f"{told} names more than there is: {sources}"
    )


def _link(answer: str, link: Link, citations: Sequence[Citation]) -> Unresolved:
    inside = [one.index for one in citations if link.target and link.target in one.quote]
    where = f"; the address stands in source {', '.join(map(str, inside))}" if inside else ""
    reason = f"the model wrote this link, not Pincite{where}"
    return Unresolved("link", answer[link.start : link.end], reason, link.start, link.end)
