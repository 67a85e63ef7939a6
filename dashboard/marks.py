"""Marks: where the words of a query stand in a passage, by the terms that BM25 counts."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

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


def counted(query: str, content: str) -> list[TermCount]:
    """The terms of the query that the passage has, in the order of the query, each once."""
    held: dict[str, int] = {}
    for term in passage_terms(content):
        held[term] = held.get(term, 0) + 1
    return [TermCount(term, held[term]) for term in dict.fromkeys(terms(query)) if term in held]


def marked(query: str, content: str) -> Markup:
    """The passage as HTML, its words that share a term with the query marked."""
    wanted = frozenset(term for term in terms(query) if len(term) >= _SHORTEST or not term.isascii())
    parts, at = [], 0
    for start, end in _spans(wanted, content):
        parts += [escaped(content[at:start]), "<mark>", escaped(content[start:end]), "</mark>"]
        at = end
    return Markup("".join([*parts, escaped(content[at:])]))


def _spans(wanted: Collection[str], content: str) -> Iterator[tuple[int, int]]:
    known: dict[str, bool] = {}
    for match in _WORDS.finditer(content):
        word = match.group()
        if word not in known:
            known[word] = any(term in wanted for term in passage_terms(word))
        if known[word]:
            yield match.span()
