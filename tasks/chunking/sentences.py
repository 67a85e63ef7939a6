"""Where sentences end, in any script."""

from collections.abc import Iterator

import regex

# Unicode UAX 29: STerm are the terminators of all scripts, ATerm the full stops that may mean less.
_END = regex.compile(
    r"(?P<mark>[…\p{Sentence_Break=STerm}\p{Sentence_Break=ATerm}]++)"
    r"""(?P<close>[\p{Pe}\p{Pf}"'*_`]*+(?:\p{Pi}(?=\s|\Z))?+)"""
    r"(?P<space>\s*+)(?=(?P<next>.?))",
    regex.DOTALL,
)
_SPACED = frozenset(".!?…․‼⁇⁈⁉")  # end a sentence only before white space; 。 and others always
_DOTS = frozenset(".…․．")
_WORD_BEFORE = regex.compile(r"[\p{L}\p{M}\p{N}.]++\Z")
_INITIALS = regex.compile(r"(?:\p{L}\p{M}*+){1,2}(?:\.(?:\p{L}\p{M}*+){1,2})++|\p{L}\p{M}*+")  # e.g, t.ex, J
_NOT_AFTER = frozenset(",;:)")
_REACH = 24  # characters looked back for the word before a full stop


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


# After these a full stop ends no sentence. Single letters and short words with inner stops (e.g., U.S., t.ex.)
# need no entry. A line a language: English; German; Scandinavian; Romance; Russian and Ukrainian; Polish, Czech.
_ABBREVIATIONS = _words(
    "mr mrs ms dr prof sr jr st rev gen capt lt sgt gov sen inc ltd corp vs etc al cf approx est dept "
    "jan feb apr jun jul aug sep sept oct nov dec",
    "bzw ca evtl ggf inkl sog tel usw vgl zzgl bspw hrsg jh mio mrd",
    "bl dvs exkl förf jfr kr mfl osv resp",
    "mme mlle av env sra srta dra ud uds sig dott ecc ss",
    "гг вв тыс млн млрд руб коп ул им ср др пр обл проф акад доц ст напр див рр грн вул",
    "np tzn tzw itd itp mgr inż tj tzv např",
)
# These do so before a number only: many are words of their own.
_BEFORE_NUMBER = _words(
    "no nos fig figs eq eqs sec ch chap vol ed art pp",
    "nr abs art str kap bd max min",
    "kap sid",
    "pág págs núm cap",
    "рис табл стр см гл",
    "č str rys",
)


def sentence_cuts(text: str, start: int, end: int) -> Iterator[int]:
    """Positions in `text` at which a sentence inside `[start, end)` has ended, white space after it included.

    A full stop is no end inside a number or a name (3.14, setup.py), after an abbreviation, an initial or the
    number of a list item, or before a small letter. Where it is in doubt the sentence goes on.
    """
    for match in _END.finditer(text, start, end):
        mark, after = match["mark"], match["next"]
        if after and not match["space"] and _SPACED.issuperset(mark):
            continue
        if _DOTS.issuperset(mark) and (after.islower() or after in _NOT_AFTER):
            continue
        if (
            len(mark) == 1
            and mark in _DOTS
            and not match["close"]
            and _is_abbreviation(text, start, match.start(), after)
        ):
            continue
        yield match.end("space")


def _is_abbreviation(text: str, start: int, stop: int, after: str) -> bool:
    """Whether the word before the full stop at `stop` is one that full stops follow."""
    before = text[max(start, stop - _REACH) : stop]
    found = _WORD_BEFORE.search(before)
    if not found:
        return False
    word = found.group().lower()
    if word.isdecimal():  # of a list item
        return len(word) < 4 and not before[: found.start()].rpartition("\n")[2].strip()
    if word in _BEFORE_NUMBER:
        return after.isdecimal()
    return word in _ABBREVIATIONS or bool(_INITIALS.fullmatch(word))
