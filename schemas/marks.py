"""How many signs of a canonical text are written as marks: raised, lowered, struck.

`tasks/extraction/base/marks.py` says how they are written. Counted from the text, so a formula that an author typed
as "x^2" counts as well.
"""

from dataclasses import dataclass

import regex

_RAISED = regex.compile(r"[⁰¹²³⁴-⁹⁺⁻]++|(?<=[\w)\]])\^(?=[\w(+\-])")
# The bar below is also in names such as max_retry: a short sign before it tells an index.
_LOWERED = regex.compile(r"[₀-₉₊₋]++|(?<![\w^])(?:\p{L}\p{M}*+\p{L}?+|\d{1,9}+)_(?=[\w(])")
_STRUCK = regex.compile(r"~~(?=\S)[^~\n]{1,2000}+(?<=\S)~~")


@dataclass(frozen=True, slots=True)
class MarkCounts:
    raised: int = 0
    lowered: int = 0
    struck: int = 0

    @property
    def total(self) -> int:
        return self.raised + self.lowered + self.struck

    def __str__(self) -> str:
        return f"{self.raised:,} raised, {self.lowered:,} lowered, {self.struck:,} struck"


def count_marks(text: str) -> MarkCounts:
    """The marks of `text`; linear in its length."""
    return MarkCounts(*(sum(1 for _ in pattern.finditer(text)) for pattern in (_RAISED, _LOWERED, _STRUCK)))
