"""Text into the terms that BM25 counts, for any script and without a dictionary (design, section Search).

    letters, marks and digits     one term a run; a word of more than five letters also its first five
    Han and Kana                  character bigrams
    Hangul                        the run, and its syllable bigrams
    Thai, Lao, Khmer, Myanmar     grapheme trigrams
    codes: err-4042, C#, O'Brien  the whole, the parts, the parts joined; of 6204-2RS/C3 also each two joined
    getUserById                   the whole, and its parts of two letters and more
    230V, 2.5kW                   the whole, the number and the unit
    1 000 000                     its groups, and the number; 1,000,000 and 1.000.000 likewise
    signs that may be left out    one spelling (`encoders.scripts`)

No stop words, no minimum length, no accent folding. Scripts written without spaces need two views: a passage
also counts its single characters (`passage_terms`), so that a query of one character finds it; a query
(`terms`) does not, so that a query of two characters is not met by a passage that has only one of them.
"""

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

import regex

from pincite.encoders.scripts import one_spelling

TOKENIZER = "pincite-terms/3"

_PREFIX_LETTERS = 5
_NGRAM_CJK = 2
_MOST_PAIRED = 8  # parts: longer compounds are addresses and paths, which are asked whole or by a part
_LONGEST_SIZE = 12  # letters and digits: longer runs are digests
_NGRAM_SEA = 3

# Written but not read: soft hyphen, joiners, directions, variation selectors. U+200B too, unless it parts words
# of a script without spaces.
_IGNORED = regex.compile(r"[\u00AD\u034F\u061C\u200C-\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069"
                         r"\uFE00-\uFE0F\uFEFF\U000E0100-\U000E01EF]+")  # fmt: skip
_BREAK_INSIDE = regex.compile(r"(?<=[\p{L}\p{N}--[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]])\u200B+"
                              r"(?=[\p{L}\p{N}--[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]])", regex.V1)  # fmt: skip
_DASHES = regex.compile(r"[\u2010-\u2013\u2212]")  # typed for one another in part numbers
_QUOTES = regex.compile(r"[\u2018\u2019\u02BC]")

_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}\u3005-\u3007\u30FC"
_HANGUL = r"\p{Hangul}"
_SEA = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_ALNUM = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_CJK}{_HANGUL}{_SEA}]]"
_RUN = rf"[[\p{{L}}\p{{N}}]--[{_CJK}{_HANGUL}{_SEA}]]{_ALNUM}*+"
_THOUSANDS = r",(?=\p{Nd}{3}(?!\p{N}))"
_STRETCH = regex.compile(
    rf"(?P<cjk>(?:[{_CJK}]\p{{M}}*+)++)"
    rf"|(?P<hangul>{_HANGUL}++)"
    rf"|(?P<sea>(?:[{_SEA}]\p{{M}}*+)++)"
    rf"|(?P<word>{_RUN}(?:(?:[-_.'&@/:\\+#]|{_THOUSANDS}){_RUN})*+(?:[+#]{{1,2}}(?!{_ALNUM}))?+)",
    regex.V1,
)
_PART = regex.compile(_RUN, regex.V1)
_TIGHT = frozenset("-_.'&@+#,")  # join the parts of a name; "/", ":" and "\" do so only where a digit is near
_MIXED = regex.compile(r"\p{L}{2,}+\p{N}{2,}+|\p{N}++\p{L}++")
_MEASURE = regex.compile(r"(?P<number>\p{N}++\.\p{N}++)\p{L}++")
_GROUPED = regex.compile(r"(?<![\p{N}.,])\p{N}{1,3}(?: \p{N}{3})++(?!\p{N})")
_CAMEL_PART = regex.compile(r"\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}++|\p{N}++")
_CAMEL = regex.compile(
    r"(?<![\p{L}\p{N}])[\p{L}\p{N}]*?\p{Ll}\p{Lu}[\p{L}\p{N}]*+|(?<![\p{L}\p{N}])\p{Lu}{2,}\p{Ll}{2}[\p{L}\p{N}]*+"
)
_SIZE = regex.compile(r"\p{L}++\p{N}++(?=\p{L}+\p{N})")  # of a thread or a tyre, before what follows it
_PREFIX = regex.compile(rf"(?:\p{{L}}\p{{M}}*+){{{_PREFIX_LETTERS}}}(?=\p{{L}})")
_LETTERS = regex.compile(r"[\p{L}\p{M}]++")
_GRAPHEME = regex.compile(r"\X")
_REFERENCE = regex.compile(r"[a-z0-9]+")


def terms(text: str) -> list[str]:
    """The terms of a query in text order, repeats kept; [] for a text without letters and digits."""
    return list(_terms(text, passage=False))


def passage_terms(text: str) -> list[str]:
    """The terms under which a passage is found: `terms`, and the shorter grams of unspaced scripts."""
    return list(_terms(text, passage=True))


def reference_terms(text: str) -> list[str]:
    """The founding tokenizer of spec section 4: `[a-z0-9]+` on lower case."""
    return _REFERENCE.findall(text.lower())


def normalize(text: str) -> str:
    """NFKC, casefold, NFKC again (folding can undo it); one dash, one apostrophe, one i, ASCII digits.

    The i with and without a dot of Turkish have the same capital in other languages: İzmir and YILDIZ are found
    as izmir and yıldız. This is case, not an accent.
    """
    return _folded(unicodedata.normalize("NFKC", text))


def _folded(text: str) -> str:
    folded = text.casefold().replace("i\u0307", "i").replace("ı", "i")
    text = unicodedata.normalize("NFKC", folded)
    if text.isascii():
        return text
    text = _QUOTES.sub("'", _DASHES.sub("-", _BREAK_INSIDE.sub("", _IGNORED.sub("", text))))
    text = one_spelling(text)
    return "".join(
        str(unicodedata.decimal(letter)) if letter.isdecimal() and letter > "\x7f" else letter
        for letter in text
    )


def _terms(text: str, passage: bool) -> Iterator[str]:
    composed = unicodedata.normalize("NFKC", text)
    folded = _folded(composed)
    for match in _STRETCH.finditer(folded):
        stretch = match.group()
        match match.lastgroup:
            case "word":
                yield from _word(stretch)
            case "cjk":
                yield from _grams(_GRAPHEME.findall(stretch), _NGRAM_CJK, passage)
            case "hangul":
                yield from _hangul(stretch, passage)
            case "sea":
                yield from _grams(_GRAPHEME.findall(stretch), _NGRAM_SEA, passage)
    for match in _GROUPED.finditer(folded):
        yield match.group().replace(" ", "")
    for match in _CAMEL.finditer(composed):
        yield from _camel(match.group())


def _camel(word: str) -> Iterator[str]:
    """get, user, by, id of getUserById; single letters and digits are left out."""
    for part in _CAMEL_PART.findall(word):
        if len(part) > 1 and not part.isnumeric():
            yield from _run(_folded(part))


def _word(stretch: str) -> Iterator[str]:
    """A run, or a compound of runs: whole, parts, joined."""
    parts = _PART.findall(stretch)
    if len(parts) == 1:
        if stretch != parts[0]:  # c++, c#
            yield stretch
        yield from _run(parts[0])
        return
    named = all(sign in _TIGHT or sign.isalnum() for sign in _signs(stretch, parts))
    code = named or any(letter.isnumeric() for letter in stretch)
    if code:
        yield stretch
    if measure := _MEASURE.fullmatch(stretch):
        yield measure["number"]
    for part in parts:
        yield from _run(part)
    if code:
        yield "".join(parts)
        yield from _pairs(parts)


def _pairs(parts: list[str]) -> Iterator[str]:
    """Neighbours joined, as a part of a long name is typed: OConnor of O'Connor-Lee. Not the digits of 3.2.1."""
    if 2 < len(parts) <= _MOST_PAIRED:
        for one, other in pairwise(parts):
            if not (one.isnumeric() and other.isnumeric()):
                yield one + other


def _signs(stretch: str, parts: list[str]) -> list[str]:
    signs, position = [], 0
    for part in parts[:-1]:
        position += len(part)
        signs.append(stretch[position])
        position += 1
    return signs


def _run(run: str) -> Iterator[str]:
    """The run; the first five letters of a longer word; the halves of iso9001 and 230v; m12 of m12x1."""
    yield run
    if _LETTERS.fullmatch(run):
        if prefix := _PREFIX.match(run):
            yield prefix.group()
    elif _MIXED.fullmatch(run):
        cut = next(at for at in range(1, len(run)) if run[at].isalpha() != run[0].isalpha())
        yield run[:cut]
        yield run[cut:]
    elif len(run) <= _LONGEST_SIZE and (size := _SIZE.match(run)):
        yield size.group()


def _grams(graphemes: list[str], size: int, passage: bool) -> Iterator[str]:
    """All grams of `size`, or the stretch itself where it is shorter; a passage has the shorter grams too."""
    if len(graphemes) < size and not passage:
        yield "".join(graphemes)
        return
    for length in range(1 if passage else size, size + 1):
        for at in range(len(graphemes) - length + 1):
            yield "".join(graphemes[at : at + length])


def _hangul(stretch: str, passage: bool) -> Iterator[str]:
    """The word with its particles, and bigrams that find its stem."""
    syllables = _GRAPHEME.findall(stretch)
    if len(syllables) != _NGRAM_CJK:
        yield stretch
    if len(syllables) > 1:
        yield from _grams(syllables, _NGRAM_CJK, passage)
