"""Marks: where the words of a query stand in a passage, by the terms that BM25 counts."""

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


_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
"""Stand for the tags while the text is escaped: code points that are no characters, so that no text has them."""


class Marker:
    """Marks one query's words in one passage after another; whether a word is one is found out once."""

    def __init__(self, query: str) -> None:
        asked = terms(query)
        self._wanted = frozenset(one for one in asked if len(one) >= _SHORTEST or not one.isascii())
        self._known: dict[str, bool] = {}

    def marked(self, content: str) -> Markup:
        """The passage as HTML, its words that share a term with the query marked."""
        content = content.replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd")
        known, parts, at = self._known, [], 0
        for match in _WORDS.finditer(content):
            word = match.group()
            if (hit := known.get(word)) is None:
                hit = known[word] = not self._wanted.isdisjoint(_terms_of(word))
            if hit:
                start, end = match.span()
                parts += [content[at:start], _OPEN, word, _CLOSE]
                at = end
        html = escaped("".join([*parts, content[at:]]))
        return Markup(html.replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>"))


@lru_cache(maxsize=20_000)
def _terms_of(word: str) -> frozenset[str]:
    """The terms of a word; a page has the same ones again and again."""
    return frozenset(passage_terms(word))
