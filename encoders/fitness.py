"""Whether an embedding model can read a document, judged by its tokenizer alone.

A model sees words that it was not trained on as many small pieces, or as one piece that stands for anything.
all-MiniLM-L6-v2 cuts English into .20 pieces a character, Swedish .34, German .37, Ukrainian .81, Korean 1.97;
of Chinese 60 to 70 % and of Thai all pieces are unknown to it (docs/retrieval.md). Multilingual vocabularies cut
what they know into .20 to .37 (docs/models.md).

Only words are looked at: rows of numbers, part numbers and emoji have many pieces in any language.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from pincite.encoders.interface import FitnessLimits
from pincite.encoders.registry import fitness_limits_of
from pincite.encoders.wordpieces import WordPieces

_SAMPLE = 64  # texts looked at: some 10 ms, whatever the document's length
_NOT_WORDS = regex.compile(r"[^\p{L}\p{M}]+")
_DENSE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Ethiopic}]")
_DENSE_WEIGHT = 2.5  # letters of an alphabet that one such character stands for


@dataclass(frozen=True, slots=True)
class Fitness:
    """How a model's tokenizer sees the words of some texts."""

    pieces: int
    unknown: int
    characters: (
        float  # letters and one space a word; a Han, Kana, Hangul or Ethiopic character is 2.5 letters
    )
    limits: FitnessLimits

    @property
    def pieces_per_character(self) -> float:
        return self.pieces / self.characters if self.characters else 0.0

    @property
    def unknown_share(self) -> float:
        return self.unknown / self.pieces if self.pieces else 0.0

    @property
    def readable(self) -> bool:
        """Also true of texts without words: nothing speaks against them."""
        limits = self.limits
        return self.pieces_per_character <= limits.pieces and self.unknown_share <= limits.unknown


def measure_fitness(texts: Sequence[str], wordpieces: WordPieces) -> Fitness:
    """The fitness of a model to `texts`, of which at most 64, spread evenly, are looked at."""
    step = max(1, -(-len(texts) // _SAMPLE))
    words = [_NOT_WORDS.sub(" ", text).strip() for text in texts[::step]]
    words = [text for text in words if text]
    around = wordpieces.count("a") - 1  # special tokens and prompt; "a" is one piece to every model
    return Fitness(
        pieces=sum(count - around for count in wordpieces.count_many(words)),
        unknown=wordpieces.unknown(words),
        characters=sum(len(text) + (_DENSE_WEIGHT - 1) * len(_DENSE.findall(text)) for text in words),
        limits=fitness_limits_of(wordpieces.model),
    )
