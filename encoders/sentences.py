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
_FIRST_LETTER = regex.compile(r"\p{L}")
_FOLLOWING = regex.compile(r"(?:[^\s.!?…]++\s++){3}[^\s.!?…]")  # four words without an end between them
_LONG_WORD = 6  # letters: longer than nearly all abbreviations
_LONG_NUMBER = 3  # digits: longer than an ordinal
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
    number of a list item. Before a small letter it is one where what follows reads as a sentence
    (`_goes_on_small`). Where it is in doubt the sentence goes on.
    """
    begin = start
    for match in _END.finditer(text, start, end):
        mark, after = match["mark"], match["next"]
        if after and not match["space"] and _SPACED.issuperset(mark):
            continue
        if _DOTS.issuperset(mark) and after in _NOT_AFTER:
            continue
        single = len(mark) == 1 and mark in _DOTS
        if single and not match["close"] and _is_abbreviation(text, start, match.start(), after):
            continue
        if (
            _DOTS.issuperset(mark)
            and after.islower()
            and not (single and _goes_on_small(text, begin, match, end))
        ):
            continue
        begin = match.end("space")
        yield begin


def _goes_on_small(text: str, begin: int, stop: regex.Match[str], end: int) -> bool:
    """Whether a new sentence begins with a small letter behind the full stop `stop`.

    Notes, lower-cased corpora and names such as iPhone do so. What follows must have words enough for a sentence,
    and the word before must not look like an abbreviation that nobody listed: it is long, a number of three digits
    or more, or the sentence from `begin` began with a small letter too, as all do in such a text.
    """
    following = _FOLLOWING.match(text, stop.end("space"), end)
    if following is None:
        return False
    found = _WORD_BEFORE.search(text[max(begin, stop.start() - _REACH) : stop.start()])
    if found and not stop["close"]:
        word = found.group()
        if word.isdecimal() and len(word) < _LONG_NUMBER:
            return False  # an ordinal: am 3. mai
        if len(word) >= _LONG_WORD or word.isdecimal():
            return True
    first = _FIRST_LETTER.search(text, begin, stop.start())
    return first is not None and first.group().islower()


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
