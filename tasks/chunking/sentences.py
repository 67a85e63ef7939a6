# ruff: noqa: RUF001  letters and punctuation of other scripts are meant
"""Where sentences end, in any script."""

from collections.abc import Iterator

import regex

# Unicode UAX 29: STerm are the terminators of all scripts, ATerm the full stops that may mean less.
_END = regex.compile(
    r"(?P<mark>[…\p{Sentence_Break=STerm}\p{Sentence_Break=ATerm}]++)"
    r"""[\p{Pe}\p{Pf}"'*_`]*+(?:\p{Pi}(?=\s|\Z))?+"""
    r"(?P<space>\s*+)(?P<next>.?)",
    regex.DOTALL,
)
_SPACED = frozenset(".!?…․‼⁇⁈⁉")  # end a sentence only before white space; 。 and others always
_DOTS = frozenset(".…․．")
_WORD_BEFORE = regex.compile(r"[\p{L}\p{M}\p{N}.]++\Z")
_INITIALS = regex.compile(r"(?:\p{L}\p{M}*+\.)*+\p{L}\p{M}*+")
_NOT_AFTER = frozenset(",;:)")
_REACH = 24  # characters looked back for the word before a full stop

# After these a full stop ends no sentence. Single letters and letters with inner stops (e.g., U.S.) need no
# entry. A line a language: English; German; Scandinavian; Romance; Russian and Ukrainian; Polish and Czech.
_ABBREVIATIONS = frozenset(
    word
    for line in (
        "mr mrs ms dr prof sr jr st rev gen col capt lt sgt hon gov sen rep inc ltd co corp no nos vs etc al "
        "cf fig figs eq eqs sec ch chap vol ed eds pp approx est dept "
        "jan feb mar apr jun jul aug sep sept oct nov dec",
        "nr abs art bzw ca evtl ggf inkl max min sog str tel usw vgl zzgl bspw hrsg jh mio mrd",
        "bl dvs ev exkl förf kap kl jfr kr mfl osv resp sid tex",
        "mme mlle av env sra srta dra ud uds pág págs núm sig dott ecc ss cap",
        "гг вв тыс млн млрд руб коп ул им рис табл стр см ср др пр гл обл проф акад доц ст "
        "напр див рр грн вул",
        "np tzn tzw itd itp mgr inż str č tj tzv např",
    )
    for word in line.split()
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
        if _DOTS.issuperset(mark) and (
            after.islower()
            or after in _NOT_AFTER
            or (len(mark) == 1 and _is_abbreviation(text, start, match.start()))
        ):
            continue
        yield match.end("space")


def _is_abbreviation(text: str, start: int, stop: int) -> bool:
    """Whether the word before the full stop at `stop` is one that full stops follow."""
    before = text[max(start, stop - _REACH) : stop]
    found = _WORD_BEFORE.search(before)
    if not found:
        return False
    word = found.group().lower()
    if word.isdecimal():
        return not before[: found.start()].rpartition("\n")[2].strip() and len(word) < 4
    return word in _ABBREVIATIONS or bool(_INITIALS.fullmatch(word))
