"""Words to text: ligatures, hyphens at line ends, spaces by script, and where each OCR word stands."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

import regex

from pincite.tasks.extraction.pages.layout import WordBox

HYPHENS = "-\u2010\u00ad\x02"

_PRESENTATION = regex.compile(r"[\uFB00-\uFDFF\uFE70-\uFEFC]")
_DROPPED = regex.compile(r"[\u200b\u2060\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LEADERS = regex.compile(r"\.{5,}|…{2,}")
_NO_SPACE = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u3000-\u303f\uff00-\uffef]"
)
# Symbol and Wingdings bullets, as Word writes them into the private use area.
_BULLETS = {ord(c): "•" for c in "\uf0b7\uf0a7\uf0d8\uf0fc\uf076\uf0a8\uf06e\uf071\uf0e0\uf0b0\uf02d"}


@dataclass(frozen=True, slots=True)
class Span:
    """Where a word of OCR stands in a text."""

    start: int
    end: int
    confidence: int
    line_start: bool  # whether it is the first word of its line

    def moved(self, by: int) -> "Span":
        return replace(self, start=self.start + by, end=self.end + by)


@dataclass(frozen=True, slots=True)
class Text:
    """A text and the OCR words in it, in text order."""

    text: str = ""
    spans: tuple[Span, ...] = ()


def clean(text: str) -> str:
    """Ligatures and Arabic presentation forms spelled out (NFKC of those blocks only), NFC, no controls.

    Dotted leaders of a table of contents become three dots: a hundred would fill the window of the encoder.
    """
    if text.isascii() and text.isprintable():
        return _LEADERS.sub("...", text) if "....." in text else text
    text = text.replace("\x02", "-").translate(_BULLETS)
    text = _PRESENTATION.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return unicodedata.normalize("NFC", _LEADERS.sub("...", _DROPPED.sub("", text)))


def line_text(words: Sequence[WordBox]) -> Text:
    """The words of one line with a space between them; none between characters of scripts without spaces."""
    text = ""
    spans: list[Span] = []
    before: WordBox | None = None
    for word in words:
        if before is not None:
            text += _space_between(text, before, word)
        if word.confidence is not None:
            spans.append(Span(len(text), len(text) + len(word.text), word.confidence, not spans))
        text += word.text
        before = word
    return Text(text, tuple(spans))


def _space_between(text: str, before: WordBox, word: WordBox) -> str:
    if not text or not word.text:
        return ""
    if _NO_SPACE.match(text[-1]) and _NO_SPACE.match(word.text[0]):
        # OCR parts Chinese into single characters; a real gap is a wide one.
        gap = max(word.x0 - before.x1, before.x0 - word.x1)
        return " " if gap > 0.7 * (word.bottom - word.top) else ""
    return " "


def join(parts: Sequence[Text], kept: frozenset[str] = frozenset()) -> Text:
    """Lines of one paragraph as one text. `kept`: words that are written with a hyphen elsewhere."""
    if len(parts) == 1:
        return parts[0]
    text = ""
    spans: list[Span] = []
    for part in parts:
        if not part.text:
            continue
        text, glue = _glue(text, part.text, kept)
        if spans and spans[-1].end > len(text):  # its hyphen was dropped
            spans[-1] = replace(spans[-1], end=len(text))
        offset = len(text) + len(glue)
        spans += [span.moved(offset) for span in part.spans]
        text += glue + part.text
    return Text(text, tuple(spans))


def _glue(text: str, following: str, kept: frozenset[str]) -> tuple[str, str]:
    """(text without a hyphen that only broke the line, what stands between it and the following line)."""
    if not text:
        return text, ""
    if text[-1] == "\u00ad":
        return text[:-1], ""
    if text[-1] in HYPHENS and len(text) > 1 and text[-2].isalnum():
        return _glue_hyphen(text, following, kept)
    if _NO_SPACE.match(text[-1]) and _NO_SPACE.match(following[0]):
        return text, ""
    return text, " "


def _glue_hyphen(text: str, following: str, kept: frozenset[str]) -> tuple[str, str]:
    first, last = _first_word(following), _last_word(text)
    if not first:
        return text, " "
    compound = "-" in last[:-1] or (last[:-1] + "-" + first).casefold() in kept
    if first[0].islower() and text[-2].isalpha() and not compound:
        return text[:-1], ""
    return text, ""


def _first_word(text: str) -> str:
    match = regex.match(r"[\p{L}\p{M}\p{N}]+", text)
    return match[0] if match else ""


def _last_word(text: str) -> str:
    match = regex.search(r"[\p{L}\p{M}\p{N}\-\u2010\u00ad]+$", text[-60:])
    return match[0] if match else ""


def hyphenated(words: Sequence[WordBox]) -> frozenset[str]:
    """Words with a hyphen inside, in lower case: these keep it when a line breaks there."""
    return frozenset(
        word.text.strip(".,;:()[]!?\"'“”").casefold() for word in words if "-" in word.text[1:-1]
    )
