"""Which blocks of a page are its own words, and which belong to the site around it: navigation, notes, link lists."""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lxml import etree

from pincite.schemas.records import Block
from pincite.tasks.extraction.web.html_visibility import name

# fmt: off
_HINT = re.compile(
    r"(?:^|[\s_-])(?:nav|navi|navbar|navigation|menu|submenu|topbar|breadcrumbs?|footer|foot|header|masthead|sidebar|side|"
    r"cookies?|consent|gdpr|banner|share|sharing|social|related|recommend(?:ed|ations)?|teasers?|newsletter|subscribe|"
    r"promo|advert(?:isement)?|ads?|sponsor(?:ed)?|widgets?|tags?|tagcloud|meta|byline|login|signin|popup|modal|overlay|"
    r"pagination|pager|paging|skip|comments?|respond|disqus|toolbar|search|rating|author|imprint|copyright)(?:$|[\s_-])",
    re.IGNORECASE,
)
# fmt: on
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LINKED = 0.5  # share of letters in links, beyond which a block is a list of links
_SHORT = 200  # letters: a longer text is the page's own, whatever the name of its element
_LEAST_SHARE = 0.5  # of the letters that nothing marks, which the main text of an article holds at least
_LEAST_WORDS = 6
_LONGEST_GAP = 4  # blocks
_ENOUGH = 0.5  # of a block's runs of three words
_LARGEST = 2_000_000  # characters of a source
# What trafilatura raises on trees that no browser would build; the page is then read by its own marks alone.
_CONFUSED = (RecursionError, ValueError, TypeError, AttributeError, LookupError, etree.LxmlError)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """What decides about one block."""

    letters: int
    linked: int  # letters inside links
    site: bool  # inside an element that says so: nav, aside, footer, a role
    hinted: bool  # inside an element whose class or id says so
    content: bool  # inside main or article

    @property
    def mostly_linked(self) -> bool:
        return self.linked > _LINKED * max(self.letters, 1)


class Surroundings:
    """Follows the walk through a page: where it is, and how much of the text since the last block is linked."""

    def __init__(self, of_site: Callable[[etree._Element], bool]) -> None:
        self._of_site = of_site
        self._open: list[tuple[bool, bool, bool, bool]] = [(False, False, False, False)]
        self._letters = 0
        self._linked = 0
        self.facts: list[BlockFacts] = []

    def enter(self, element: etree._Element) -> None:
        site, hinted, content, link = self._open[-1]
        tag = name(element)
        content = content or tag in ("main", "article") or element.get("role") == "main"
        hinted = hinted or (tag not in ("html", "body", "main", "article") and _is_hinted(element))
        self._open.append((site or self._of_site(element), hinted, content, link or tag == "a"))

    def leave(self) -> None:
        self._open.pop()

    def read(self, text: str) -> None:
        letters = len(text.strip())
        self._letters += letters
        self._linked += letters * self._open[-1][3]

    def read_whole(self, element: etree._Element) -> None:
        """The text of an element that the walk does not enter."""
        self.enter(element)
        letters = len("".join(map(str, element.itertext())).strip())
        self._letters += letters
        linked = (
            letters
            if self._open[-1][3]
            else sum(len("".join(map(str, link.itertext())).strip()) for link in element.iter("a"))
        )
        self._linked += min(linked, letters)

    def block(self, count: int) -> None:
        """`count` blocks were appended, of what was read since the last ones."""
        site, hinted, content, _ = self._open[-1]
        self.facts += [BlockFacts(self._letters, self._linked, site, hinted, content)] * count
        self._letters = self._linked = 0


def _is_hinted(element: etree._Element) -> bool:
    marks = f"{element.get('class') or ''} {element.get('id') or ''}"
    return len(marks) > 1 and _HINT.search(_CAMEL.sub("-", marks[:300])) is not None


def own_blocks(written: Sequence[tuple[Block, str]], facts: Sequence[BlockFacts], main: str) -> list[bool]:
    """For each block, whether it is the page's own. `main`: the main text that trafilatura found, "" for none.

    A block is the page's own if most of its runs of three words are in `main`, or if it stands between two such
    and is neither linked nor marked as something else. Where `main` is small beside what is not marked, the page is
    no article, and only what the page itself marks, and lists of links, are not its own. All blocks are when none
    would be.
    """
    unmarked = [
        not (fact.site or fact.mostly_linked or (fact.hinted and fact.letters < _SHORT)) for fact in facts
    ]
    runs, folded = _shingles(main), _folded(main)
    found = [bool(runs) and _is_in(words, runs, folded) for _, words in written]
    blocks = [block for block, _ in written]
    letters = [fact.letters for fact in facts]
    held = sum(size for size, one in zip(letters, found, strict=True) if one)
    if held < _LEAST_SHARE * sum(size for size, one in zip(letters, unmarked, strict=True) if one):
        own = unmarked
    else:
        own = _with_gaps(written, facts, found)
    own = [
        (one or (block.kind in ("table", "code") and not fact.mostly_linked and not fact.hinted))
        and not fact.site
        for one, block, fact in zip(own, blocks, facts, strict=True)
    ]
    for at in range(len(own) - 2, -1, -1):
        # A heading goes with what stands under it.
        if blocks[at].kind == "heading" and not facts[at].site and own[at + 1]:
            own[at] = True
    return own if any(own) else [True] * len(own)


def _with_gaps(
    written: Sequence[tuple[Block, str]], facts: Sequence[BlockFacts], found: list[bool]
) -> list[bool]:
    """Also short runs of blocks between two that were found."""
    own = list(found)
    last = -1
    for at, one in enumerate(found):
        if not one:
            continue
        if last >= 0 and 1 < at - last <= _LONGEST_GAP:
            for between in range(last + 1, at):
                fact, (block, text) = facts[between], written[between]
                words = len(_WORD.findall(text))
                plain = not (fact.site or fact.hinted or fact.mostly_linked)
                own[between] = plain and (words >= _LEAST_WORDS or block.kind in ("table", "code"))
        last = at
    return own


def _is_in(block: str, main: set[tuple[str, ...]], folded: str) -> bool:
    words = _WORD.findall(block.lower())
    if len(words) < _LEAST_WORDS:
        return bool(words) and " ".join(words) in folded
    runs = _shingles(block)
    return len(runs & main) >= _ENOUGH * len(runs)


def _folded(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return {tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2))} if words else set()


def main_text(source: str) -> str:
    """What trafilatura takes for the main text of a page; "" for none, or for a page too large or strange for it."""
    if len(source) > _LARGEST:
        return ""
    from trafilatura import extract

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it tells of every page without an article
    try:
        return extract(source, fast=True, include_comments=False, include_tables=True) or ""
    except _CONFUSED:
        return ""
