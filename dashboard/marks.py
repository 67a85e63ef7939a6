"""Marks: where the words of a query stand in a passage, by the terms that BM25 counts."""

from dataclasses import dataclass
from functools import lru_cache

import regex
from markupsafe import Markup

from encoders.terms import passage_terms, terms
from schemas.showing import escaped

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORDS = regex.compile(
    rf"[{_UNSPACED}]{{1,3}}|[\p{{L}}\p{{N}}][\p{{L}}\p{{M}}\p{{N}}--[{_UNSPACED}]]*(?:[-_.'&@/\\+#][\p{{L}}\p{{N}}]"
    rf"[\p{{L}}\p{{M}}\p{{N}}--[{_UNSPACED}]]*)*",
    regex.V1,
)
_SHORTEST = 2


@dataclass(frozen=True, slots=True)
class TermCount:
    """A term of the query and how often a passage has it."""

    term: str
    count: int


def marked(query: str, content: str) -> tuple[Markup, list[TermCount]]:
    """(the passage as HTML, its words that share a term with the query marked; those terms as the query has them)."""
    asked = list(dict.fromkeys(terms(query)))
    wanted = frozenset(asked)
    held: dict[str, int] = {}
    parts, at = [], 0
    for match in _WORDS.finditer(content):
        shared = wanted & _terms_of(match.group())
        for term in shared:
            held[term] = held.get(term, 0) + 1
        if any(len(term) >= _SHORTEST or not term.isascii() for term in shared):
            start, end = match.span()
            parts += [escaped(content[at:start]), "<mark>", escaped(content[start:end]), "</mark>"]
            at = end
    html = Markup("".join([*parts, escaped(content[at:])]))
    return html, [TermCount(term, held[term]) for term in asked if term in held]


@lru_cache(maxsize=20_000)
def _terms_of(word: str) -> frozenset[str]:
    """The terms of a word; a page has the same ones again and again."""
    return frozenset(passage_terms(word))
