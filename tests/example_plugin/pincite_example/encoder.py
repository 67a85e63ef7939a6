"""A model without weights: how often each letter and digit occurs."""

from collections.abc import Sequence

import numpy as np

from pincite.encoders.interface import FitnessLimits, Vectors

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


class Letters:
    fingerprint = "letters-and-digits-1"
    dimension = len(_ALPHABET) + 1
    window = 4_096
    fitness = FitnessLimits(pieces=2.0, unknown=0.1)

    def documents(self, texts: Sequence[str]) -> Vectors:
        counts = np.array([[*map(text.lower().count, _ALPHABET), 1] for text in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self.documents(texts)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [len(text) + 2 for text in texts]

    def unknown(self, texts: Sequence[str]) -> int:
        return sum(not character.isascii() for text in texts for character in text)
