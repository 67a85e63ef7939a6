"""What is one letter to a reader though Unicode has two: points, joins and variants that a script may leave out.

Applied alike to passages and queries, so that either spelling finds the other.
"""

from functools import cache
from typing import Any

import regex

_DROPPED = regex.compile(
    r"[\u0610-\u061A\u0640\u064B-\u0652\u0656-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E8\u06EA-\u06ED"
    r"\u08D3-\u08FF"  # Arabic
    r"\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7"  # Hebrew points and accents
    r"\u093C\u09BC\u0A3C\u0ABC\u0B3C\u0CBC]+"  # nukta of the scripts of India
)
_VARIANTS = str.maketrans(
    {
        "ș": "ş", "ț": "ţ",  # Romanian: comma and cedilla
        "\u0929": "\u0928", "\u0931": "\u0930", "\u0934": "\u0933",  # Devanagari letters with nukta, composed
    }
)  # fmt: skip
_HAN = regex.compile(r"[\p{Han}--[\u3005-\u3007]]+", regex.V1)


def one_spelling(text: str) -> str:
    """`text`, casefolded and NFKC, without signs that may be left out; Han characters in their simplified form."""
    text = _DROPPED.sub("", text).translate(_VARIANTS)
    return _HAN.sub(lambda match: "".join(map(_simplified, match.group())), text)


@cache
def _simplified(character: str) -> str:
    """By OpenCC's table of characters. Phrases are not looked at: both sides are changed alike."""
    found: str = _converter().convert(character)
    return found


@cache
def _converter() -> Any:
    """Loaded for the first Han character: .1 CPU s."""
    from opencc import OpenCC  # type: ignore[import-untyped]  # it has no types

    return OpenCC("t2s")
