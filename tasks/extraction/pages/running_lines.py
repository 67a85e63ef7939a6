"""Running headers, footers and page numbers: lines that return over pages at the same place.

Repetition decides, never the position alone: a heading that occurs once stays. So does what identifies a page: the
number of its invoice, a sum that some pages share. Only page numbers, and what is the same on all pages (or on all
left ones), are left out whole. Of the title of a chapter, which its pages repeat, the first stays, and in a document
of three pages that of every line.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

ZONE = 0.2  # of the page height at top and bottom in which such lines are looked for
DEPTH = 3  # lines from the edge
SAME_PLACE = 7.0  # points
MIN_PAGES = 3
DENSITY = 0.4  # of the pages between its first and last appearance
NEARLY_ALL = 0.8  # of the pages, or of the left or right ones: a cover or a picture has no header
MOST_BEFORE = 30  # pages that a page number does not count, or counts twice: covers, an offprint

_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"(?=[ivxlc])(x[cl]|l?x{0,3})(i[xv]|v?i{0,3})", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"\W*(?:page|p\.?|seite|sida|стр\.?|第)?\W*#\W*(?:(?:of|von|av|из|/|页|頁|共)\W*#?\W*页?)?\W*"
)
# "Chapter 3" on the third page is a heading: its number grows with the chapters.
_COUNTED_HEADING = re.compile(
    r"(chapter|section|part|appendix|article|lesson|exercise|question|step|day|week|table|figure|kapitel|"
    r"abschnitt|avsnitt|глава|розділ|раздел)\b.*",
)
# Before a number that names what the page is about, whatever page it is.
_NAMED_NUMBER = re.compile(
    r"\b(?:invoice|receipt|order|customer|account|case|ticket|certificate|policy|contract|delivery|bill|"
    r"rechnung|quittung|auftrag|kunde|konto|vertrag|faktura|kvitto|ordernr|рахунок|счет|счёт|договір|договор|facture|"
    r"factura|fattura|no|nr|№|id)\W*(?:no|nr|number|nummer|n[o°º])?\W*#"
)


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """A line near the upper or lower edge of its page."""

    page: int
    text: str
    at_top: bool
    distance: float  # from that edge, points


@dataclass(frozen=True, slots=True)
class _Seen:
    index: int
    line: EdgeLine
    numbers: tuple[int, ...]


def running_lines(lines: Sequence[EdgeLine], pages: int) -> frozenset[int]:
    """Indices of `lines` that are running headers, footers or page numbers. `pages`: of the document."""
    patterns: dict[tuple[bool, str], list[_Seen]] = {}
    for index, line in enumerate(lines):
        pattern, numbers = _pattern(line.text)
        patterns.setdefault((line.at_top, pattern), []).append(_Seen(index, line, numbers))
    running: set[int] = set()
    for (_, pattern), seen in patterns.items():
        for cluster in _clusters(seen):
            for group in _counted(cluster):
                if _repeats(group, pages, pattern):
                    running.update(item.index for item in _running(group, pages, pattern))
    return frozenset(running)


def _running(group: Sequence[_Seen], pages: int, pattern: str) -> Sequence[_Seen]:
    """What of lines that return is left out."""
    if _PAGE_NUMBER.fullmatch(pattern):
        return group
    if len({item.numbers for item in group}) > 1:  # a number grows in it
        return group if _numbers_pages(group, pattern) else ()
    if _on_all_pages(group, pages):
        return group if pages > MIN_PAGES else group[1:]
    titles = group[0].line.at_top and not group[0].numbers
    return group[1:] if titles else ()


def _on_all_pages(group: Sequence[_Seen], pages: int) -> bool:
    on = {item.line.page for item in group}
    one_side = len({page % 2 for page in on}) == 1
    return len(on) >= NEARLY_ALL * (pages // 2 if one_side and pages > MIN_PAGES else pages)


def _numbers_pages(group: Sequence[_Seen], pattern: str) -> bool:
    """Whether the number that grows in a line is that of the page, and not that of an invoice."""
    if _NAMED_NUMBER.search(pattern):
        return False
    offsets = [
        {item.numbers[slot] - item.line.page for item in group} for slot in range(len(group[0].numbers))
    ]
    return any(len(found) == 1 and abs(min(found)) <= MOST_BEFORE for found in offsets)


def _pattern(text: str) -> tuple[str, tuple[int, ...]]:
    """The text with its numbers as "#", and these numbers."""
    folded = " ".join(text.casefold().split())
    if roman := _ROMAN.fullmatch(folded.strip(" .-–—")):
        return "#", (_roman(roman[0]),)
    return _NUMBER.sub("#", folded), tuple(int(n[-9:]) for n in _NUMBER.findall(folded))


def _roman(text: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}[c] for c in text]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))


def _clusters(seen: Sequence[_Seen]) -> list[list[_Seen]]:
    """Those at nearly the same distance from the edge together."""
    clusters: list[list[_Seen]] = []
    for item in sorted(seen, key=lambda s: (s.line.distance, s.index)):
        if clusters and item.line.distance - clusters[-1][-1].line.distance <= SAME_PLACE:
            clusters[-1].append(item)
        else:
            clusters.append([item])
    return clusters


def _counted(cluster: Sequence[_Seen]) -> list[list[_Seen]]:
    """Parts of the cluster in which each number stays, or grows with the page."""
    groups: dict[tuple[tuple[str, int], ...], list[_Seen]] = {}
    slots = len(cluster[0].numbers)
    if slots == 0:
        return [sorted(cluster, key=lambda s: s.line.page)]
    rules = []
    for slot in range(slots):
        offsets = [item.numbers[slot] - item.line.page for item in cluster]
        values = [item.numbers[slot] for item in cluster]
        grows = max(map(offsets.count, offsets)) > max(map(values.count, values))
        rules.append("grows" if grows else "stays")
    for item in cluster:
        key = tuple(
            (rule, item.numbers[slot] - (item.line.page if rule == "grows" else 0))
            for slot, rule in enumerate(rules)
        )
        groups.setdefault(key, []).append(item)
    return [sorted(group, key=lambda s: s.line.page) for group in groups.values()]


def _repeats(group: Sequence[_Seen], pages: int, pattern: str) -> bool:
    on = sorted({item.line.page for item in group})
    if _COUNTED_HEADING.fullmatch(pattern) and len({item.numbers for item in group}) > 1:
        return False
    page_number = _PAGE_NUMBER.fullmatch(pattern) is not None
    least = 2 if pages <= MIN_PAGES or page_number else MIN_PAGES
    return len(on) >= least and len(on) / (on[-1] - on[0] + 1) >= DENSITY
