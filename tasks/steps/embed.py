"""Embed: the vectors of one document's chunks, in the child process that holds the model."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pincite.encoders.embedding import Embedder, load_embedder
from pincite.encoders.models import ModelName, model_here
from pincite.tasks.sandbox.child import At


@dataclass(frozen=True, slots=True)
class EmbedOrder:
    model: ModelName
    texts: tuple[str, ...]


def embed(order: EmbedOrder, at: At) -> np.ndarray:
    """float32 [texts, dimension]."""
    at("embed", None)
    return _embedder(order.model).embed(order.texts)


@lru_cache(maxsize=1)
def _embedder(name: ModelName) -> Embedder:
    return load_embedder(model_here(name))
