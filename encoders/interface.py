"""What an encoder is: the parts that each has, and what a plug-in gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FitnessLimits:
    """Up to which a text is readable to a model, by what its tokenizer makes of it (`encoders.fitness`)."""

    pieces: float  # word-pieces a character
    unknown: float  # of all word-pieces


class VectorLibrary(Protocol):
    """What makes vectors: float32 unit rows in the order of the texts, which are at least one."""

    def documents(self, texts: Sequence[str]) -> Vectors: ...

    def queries(self, texts: Sequence[str]) -> Vectors: ...


class PieceCounter(Protocol):
    """What counts word-pieces, without the weights being loaded."""

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Of each text as a document, special tokens and prompt included."""
        ...

    def unknown(self, texts: Sequence[str]) -> int:
        """How many word-pieces of the texts the model has no word for."""
        ...


@runtime_checkable
class Encoder(VectorLibrary, PieceCounter, Protocol):
    """What the function of an entry point of `pincite.encoders` returns; the entry point's name names the model.

    It is called in each process that needs the model. Weights should be loaded by the first `documents` or `queries`,
    since most processes only ask for the properties and for word-pieces.
    """

    @property
    def fingerprint(self) -> str:
        """A digest of all that decides a vector: vectors of two fingerprints are never compared."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def window(self) -> int:
        """Word-pieces that the model reads of a text, special tokens included."""
        ...

    @property
    def fitness(self) -> FitnessLimits:
        """Texts over these limits are found by their words alone."""
        ...


@dataclass(frozen=True, slots=True)
class EncoderRow:
    """All that the rest of Pincite knows of one encoder. What is "module:function" is imported when it is needed."""

    library: str  # (model, threads) to a `VectorLibrary`
    pieces: str  # (model) to a `PieceCounter`
    fitness: FitnessLimits
    name: str = ""  # in the settings; "" of any folder
    aliases: tuple[str, ...] = ()
    package: str = ""  # that carries the weights, as imported
    folder: str = ""  # within the package; "" is the package itself
    install: str = ""  # what to give to pip
    read: str = ""  # (name, folder) to a `Model`
