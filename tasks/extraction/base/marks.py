"""How raised, lowered and struck words are written in a canonical text. One rule book for all formats.

    10⁶ drawn as a raised 6        10^6      a raised sign is never glued to a number: not 106
    m and a raised 2, Ca and 2+    m², Ca²⁺  after a unit, an element or a bracket
    pump and a raised 1 or a       pump^1    after a word: the word stays findable
    1 and a raised st              1st       ordinals and abbreviations are read as they are said
    H, a lowered 2, O              H₂O       x_i, V_max where Unicode has no sign for it
    a line through 4,100 euro      ~~4,100 euro~~

What a reader must know before the sign decides, so `written` joins the runs of a whole line.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import regex

Position = Literal["", "raised", "lowered"]

_UP = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_DOWN = str.maketrans("0123456789+-−–", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋")
_SIGNED_NUMBER = regex.compile(r"[+\-−–]?[0-9]{1,4}[+\-−–]?|[+\-−–]")
_LAST_LETTERS = regex.compile(r"[\p{L}\p{M}]+\Z")
_WORDS_THAT_HOLD_TOGETHER = regex.compile(
    r"[+\-−–]?[\p{L}\p{M}\p{N}]+(?:[.,/][\p{L}\p{N}]+)*|\(.*\)", regex.DOTALL
)
_UNITS = frozenset({"mol", "bar", "rad", "min", "ohm", "rpm", "day", "cal", "dyn"})
_ORDINALS = frozenset(
    {"st", "nd", "rd", "th", "er", "ère", "re", "ème", "eme", "ième", "e", "o", "os", "as", "de", "ste"}
)
_ROMAN = regex.compile(r"[IVXLCDM]+")
# fmt: off
_ABBREVIATED = frozenset({
    "Mme", "Mmes", "Mlle", "Mlles", "Mgr", "Mr", "Mrs", "Dr", "Dre", "Me", "No", "Nos", "no", "nos", "Cie", "Ste",
})
# fmt: on
STRUCK = ("struck-text", "words with a line through them, marked ~~so~~")
"""Code and message of the warning that names them."""
_SIGNS = {"tm": "™", "sm": "℠", "(r)": "®", "(c)": "©"}
_LONGEST = 40  # characters: longer raised or lowered words are small print, not signs
_LOOK_BACK = 24  # characters before a sign that decide how it is written


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """A stretch of a line as the source draws it."""

    text: str
    position: Position = ""
    struck: bool = False


def written(runs: Iterable[DrawnRun]) -> str:
    """The runs of one or several lines as text, with marks where a run is raised, lowered or struck."""
    parts: list[str] = []
    before = ""
    for is_struck, stretch in groupby(runs, key=lambda run: run.struck):
        inner: list[str] = []
        for position, group in groupby(stretch, key=lambda run: run.position):
            text = "".join(run.text for run in group)
            if position:
                text = (raised if position == "raised" else lowered)(text, before)
            inner.append(text)
            before = (before + text[-_LOOK_BACK:])[-_LOOK_BACK:]
        parts.append(struck("".join(inner)) if is_struck else "".join(inner))
    return "".join(parts)


def struck_words(runs: Iterable[DrawnRun]) -> list[str]:
    """What the line goes through, for the warning."""
    return [
        words
        for is_struck, stretch in groupby(runs, key=lambda run: run.struck)
        if is_struck and any(map(str.isalnum, words := "".join(run.text for run in stretch).strip()))
    ]


def raised(words: str, before: str) -> str:
    """`words`, drawn above the line after `before` (the text so far; its last characters decide)."""
    core, lead, tail = _around(words)
    last = before[-1:]
    if not _is_sign(core):
        return _apart(words, last)
    letters = _LAST_LETTERS.search(before[-_LOOK_BACK:])
    word = letters[0] if letters else ""
    if lead or not last.strip():
        # Nothing stands right before: a note's own number, an isotope, or the power of a number far off.
        return f"{lead}^{_held(core)}{tail}" if before.rstrip()[-1:].isdecimal() else words
    if core.lower() in _SIGNS and word:
        sign = _SIGNS[core.lower()]
    elif _said_as_it_is(core, last, word):
        sign = core
    elif _SIGNED_NUMBER.fullmatch(core) and (_takes_power(word) or last in ")]}₀₁₂₃₄₅₆₇₈₉°'′″%"):
        sign = core.translate(_UP)
    elif last.isalnum() or last in ")]}":
        sign = "^" + _held(core)
    else:
        sign = core
    return sign + tail


def lowered(words: str, before: str) -> str:
    """`words`, drawn below the line after `before`."""
    core, lead, tail = _around(words)
    last = before[-1:]
    if not _is_sign(core) or lead or not (last.isalnum() or last in ")]}"):
        return _apart(words, last)
    if _SIGNED_NUMBER.fullmatch(core) and not last.isdecimal():
        return core.translate(_DOWN) + tail
    return f"_{_held(core)}{tail}"


def struck(words: str) -> str:
    """`words` with a line through them, line by line; white space and nothing else stays as it is."""
    lines = []
    for line in words.split("\n"):
        core, lead, tail = _around(line)
        lines.append(f"{lead}~~{core.replace('~~', '')}~~{tail}" if any(map(str.isalnum, core)) else line)
    return "\n".join(lines)


def _apart(words: str, last: str) -> str:
    """Words that are no sign, not glued to the word before them."""
    return f" {words}" if last.isalnum() and words[:1].isalnum() else words


def _around(words: str) -> tuple[str, str, str]:
    """(the words, white space before them, white space after them)."""
    core = words.strip()
    at = words.find(core) if core else len(words)
    return core, words[:at], words[at + len(core) :]


def _is_sign(core: str) -> bool:
    """Small print, a mark such as * or ®, and a reference in brackets are read as they are written."""
    return (
        0 < len(core) <= _LONGEST
        and "\n" not in core
        and not core.startswith(("[", "(r", "(c"))
        and (any(map(str.isalnum, core)) or _SIGNED_NUMBER.fullmatch(core) is not None)
    ) or core.lower() in _SIGNS


def _takes_power(word: str) -> bool:
    """Units, elements and names of quantities: m², kg², s⁻¹, Ca²⁺. A longer word has a note, not a power."""
    return 0 < len(word) <= 2 or word in _UNITS


def _said_as_it_is(core: str, last: str, word: str) -> bool:
    if core in _ORDINALS and (last.isdecimal() or (_ROMAN.fullmatch(word) is not None and len(word) > 1)):
        return True
    return bool(word) and word + core in _ABBREVIATED


def _held(core: str) -> str:
    """In brackets where the sign would not hold together without them."""
    core = regex.sub("[−–]", "-", core)
    return core if _WORDS_THAT_HOLD_TOGETHER.fullmatch(core) else f"({core})"
