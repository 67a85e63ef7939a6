"""Texts into unit vectors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from encoders.models import Model
from encoders.offline import stay_offline
from schemas.errors import ModelUnavailable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]

BATCH = 8  # texts; best on two cores, sorted by length (+22 %)


class Embedder(Protocol):
    """Turns texts into unit vectors of one model."""

    @property
    def model(self) -> Model: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32 `[len(texts), dimension]`, unit rows in the order of `texts`; `[0, dimension]` for none."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """float32 `[dimension]`, unit length."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """float32 `[len(texts), dimension]`, unit rows in the order of `texts`."""
        ...


def load_embedder(model: Model, threads: int | None = None) -> Embedder:
    """The embedder of `model` on this machine's CPU. `threads` of torch; None leaves its default.

    Takes about five CPU seconds, nearly all of them the import of sentence-transformers. Opens no connection.
    Raises `ModelUnavailable` when the folder can't be loaded.
    """
    stay_offline()
    import torch
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # of transformers
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        encoder = SentenceTransformer(str(model.folder), device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise ModelUnavailable(
            f"{model.name} in {model.folder} can't be loaded: {error}. "
            "Copy the model again, or choose another."
        ) from error
    encoder.max_seq_length = model.window  # its tokenizer.json may cut earlier: MiniLM at 128 of 256
    return _SentenceTransformers(model, encoder)


class _SentenceTransformers:
    def __init__(self, model: Model, encoder: "SentenceTransformer") -> None:
        self._model = model
        self._encoder = encoder

    @property
    def model(self) -> Model:
        return self._model

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self._model.dimension), dtype=np.float32)
        vectors = self._encoder.encode(  # sorts by length itself and restores the order
            list(texts),
            batch_size=BATCH,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return np.ascontiguousarray(vectors, dtype=np.float32)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)
