"""Marks: where the words of a query stand in a passage, by the terms that BM25 counts."""

import re
from functools import lru_cache

import regex
from markupsafe import Markup

from pincite.encoders.terms import passage_terms, terms
from pincite.schemas.display import escaped

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORDS = regex.compile(
    rf"([{_UNSPACED}]{{1,3}}|[\p{{L}}\p{{N}}][\p{{L}}\p{{M}}\p{{N}}--[{_UNSPACED}]]*(?:[-_.'&@/\\+#][\p{{L}}\p{{N}}]"
    rf"[\p{{L}}\p{{M}}\p{{N}}--[{_UNSPACED}]]*)*)",
    regex.V1,
)
_ASCII_WORDS = re.compile(r"([a-zA-Z0-9]++(?:[-_.'&@/\\+#][a-zA-Z0-9]++)*+)")
"""The same words of a text that is ASCII, found in a quarter of the time."""
_SHORTEST = 2


_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
"""Stand for the tags while the text is escaped: code points that are no characters, so that no text has them."""


class Marker:
    """Marks one query's words in one passage after another; what a word becomes is found out once."""

    def __init__(self, query: str) -> None:
        asked = terms(query)
        wanted = frozenset(one for one in asked if len(one) >= _SHORTEST or not one.isascii())
        self._stretches = _Stretches(wanted)

    def marked(self, content: str) -> Markup:
        """The passage as HTML, its words that share a term with the query marked."""
        content = content.replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd")
        text = " ".join(map(self._stretches.__getitem__, content.split(" ")))
        return Markup(escaped(text).replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>"))


class _Words(dict[str, str]):
    """What stands for each word: itself, between the marks where it shares a term with the query."""

    def __init__(self, wanted: frozenset[str]) -> None:
        super().__init__()
        self._wanted = wanted

    def __missing__(self, word: str) -> str:
        self[word] = known = word if self._wanted.isdisjoint(_terms_of(word)) else f"{_OPEN}{word}{_CLOSE}"
        return known


class _Stretches(_Words):
    """The same of what stands between two spaces: whole words, most often one and nothing else."""

    def __init__(self, wanted: frozenset[str]) -> None:
        super().__init__(wanted)
        self._words = _Words(wanted)

    def __missing__(self, stretch: str) -> str:
        ascii_only = stretch.isascii()
        if ascii_only and stretch.isalnum():
            return super().__missing__(stretch)
        parts = (_ASCII_WORDS if ascii_only else _WORDS).split(stretch)
        parts[1::2] = map(self._words.__getitem__, parts[1::2])
        self[stretch] = known = "".join(parts)
        return known


@lru_cache(maxsize=20_000)
def _terms_of(word: str) -> frozenset[str]:
    """The terms of a word; a page has the same ones again and again."""
    return frozenset(passage_terms(word))
