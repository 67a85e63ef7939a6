"""The language of a document, told from its words by py3langid (naive Bayes over byte n-grams, 140 labels).

An unknown language is better than a wrong one: a filter on language would hide the document. How often the
answer is wrong, and how often there is none, is measured in docs/models.md by `benchmarks/languages.py`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

UNKNOWN = "unknown"
"""What a person types for documents whose language could not be told; they are stored as ""."""

_CODES = (
    "af am an ar as az ba be bg bn br bs ca cs cy da de dz el en eo es et eu fa ff fi fo fr fy ga gd gl gn gu ha he "
    "hi hr ht hu hy id ig is it ja jv ka ki kk km kn ko ku ky la lb lg ln lo lt lv mg mk ml mn mr ms mt my ne nl nn "
    "no oc om or pa pl ps pt qu ro ru rw sa se si sk sl sn so sq sr st sv sw ta te tg th tk tl tr tt ug uk ur uz vi "
    "vo wa xh yo zh zu"
)
LANGUAGES = frozenset(_CODES.split())
"""What `language_of` can tell, besides ""."""

LEAST_PROBABILITY = 0.80
LEAST_LETTERS = 20  # of an alphabet; a Han, Kana or Hangul character stands for 2.5
LEAST_SHARE = 0.60  # of a document's letters that must be in its language

_TEXTS = 64  # looked at, spread evenly: some 30 ms, whatever the document's length
_PART_LETTERS = 200  # of a part that is judged by itself
_NO_WORD = regex.compile(r"[\p{N}_@\\/=<>{}\[\]|#$*~^]")  # in codes, numbers, addresses, markup
_LETTERS = regex.compile(r"[\p{L}\p{M}]")
_DENSE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
_DENSE_WEIGHT = 2.5

# Labels that are written like a language with a code of two letters, and stand for it here.
_SAME_AS = {"arz": "ar", "ary": "ar", "yue": "zh", "wuu": "zh", "hbo": "he", "kik": "ki", "gug": "gn",
            "fuv": "ff", "uzs": "uz", "sdh": "ku"}  # fmt: skip


def language_of(texts: Sequence[str]) -> str:
    """ISO 639-1 of the language in which most of `texts` is written; "" when it can't be told.

    It can't of too few words, of words that fit several languages, of languages without a code of two letters,
    and of texts of which no language has 60 %. Numbers, codes and addresses are not looked at.
    """
    weights: dict[str, float] = defaultdict(float)
    for part in _parts(texts):
        weights[_language_of_part(part)] += _size(part)
    total = sum(weights.values())
    language, weight = max(weights.items(), key=lambda item: (item[1], item[0]))
    return language if weight >= LEAST_SHARE * total else ""


def _parts(texts: Sequence[str]) -> Iterator[str]:
    """Lines without what is no word, joined until a part has enough letters to be judged."""
    words: list[str] = []
    size = 0.0
    for text in texts[:: max(1, -(-len(texts) // _TEXTS))]:
        for line in text.splitlines():
            words.append(" ".join(word for word in line.split() if not _NO_WORD.search(word)))
            size += _size(words[-1])
            if size >= _PART_LETTERS:
                yield " ".join(words)
                words, size = [], 0.0
    yield " ".join(words)


def _size(text: str) -> float:
    """Letters, as an alphabet has them."""
    return len(_LETTERS.findall(text)) + (_DENSE_WEIGHT - 1) * len(_DENSE.findall(text))


def _language_of_part(text: str) -> str:
    if _size(text) < LEAST_LETTERS:
        return ""
    language, probability = max(_probabilities(text[: 8 * _PART_LETTERS]).items(), key=lambda item: item[1])
    return language if probability >= LEAST_PROBABILITY else ""


def _probabilities(text: str) -> Mapping[str, float]:
    """By ISO 639-1 code; "" takes what has none."""
    probabilities: dict[str, float] = defaultdict(float)
    for label, probability in _identifier().rank(text):
        probabilities[_code(label)] += probability
    return probabilities


def _code(label: str) -> str:
    code = _SAME_AS.get(label, label)
    return code if len(code) == 2 else ""


@lru_cache(maxsize=1)
def _identifier() -> "LanguageIdentifier":
    """Loaded from the package: .7 CPU s and some 60 MB."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
