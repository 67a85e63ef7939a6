"""Text that is no text: glyphs without a meaning, and letters that a font has shuffled."""

from collections.abc import Sequence

import regex

from pincite.tasks.extraction.pages.layout import WordBox
from pincite.tasks.extraction.pdf.words import PdfWord

GARBLED = 0.05  # share of characters without a meaning from which the whole page goes to OCR
SCRAMBLED = 0.25  # share of longer words without a vowel; in English, German or Swedish it is under .03
FEWEST = 15  # longer words from which the share says something
ODD = 0.12  # share of signs that hardly occur in text, as "Ã¤" read in the wrong encoding has them

_LATIN_WORD = regex.compile(r"[A-Za-z]{4,}")
_VOWEL = regex.compile(r"[aeiouyAEIOUY]")
_ODD = regex.compile(r"[\u00a1-\u00bf\u00d7\u00f7Ãâ\u0080-\u009f]")


def is_garbled(words: Sequence[PdfWord]) -> bool:
    """Whether too many glyphs have no meaning."""
    characters = sum(len(word.text) for word in words)
    unmapped = sum(word.unmapped for word in words)
    return unmapped > GARBLED * characters or any("(cid:" in word.text for word in words)


def is_scrambled(words: Sequence[WordBox]) -> bool:
    """Whether the letters look shuffled: to be compared with what OCR reads."""
    text = " ".join(word.text for word in words)
    longer = _LATIN_WORD.findall(text)
    if len(longer) >= FEWEST and sum(1 for w in longer if not _VOWEL.search(w)) > SCRAMBLED * len(longer):
        return True
    return len(text) > 100 and len(_ODD.findall(text)) > ODD * len(text)


def contradicts(words: Sequence[WordBox], scanned: Sequence[WordBox]) -> bool:
    """Whether OCR read about as much, as sound text, and hardly a word of the text layer."""
    layer = {word.text.casefold() for word in words}
    seen = [word.text.casefold() for word in scanned if len(word.text) > 3]
    if len(seen) < FEWEST // 2 or is_scrambled(scanned):
        return False
    return sum(1 for text in seen if text in layer) < 0.3 * len(seen)
