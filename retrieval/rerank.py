"""Reranking: a cross-encoder reads question and passage together and reorders the first 25.

Weights are a folder, or a name of the hub whose files lie in this machine's Hugging Face cache. Nothing is fetched.
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pincite.encoders.offline import stay_offline
from pincite.retrieval.ranking import Ranked
from pincite.retrieval.tie_order import Order, as_numbered
from pincite.schemas.errors import ModelUnavailable
from pincite.schemas.settings import DEFAULT_RERANKER

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

RERANK_DEPTH = 25
"""How many of the fused list are read again: fixed, so that the top k is a prefix of the top k+1."""

Scores = npt.NDArray[np.float64]
_scoring = threading.Lock()  # fast tokenizers raise "Already borrowed" when threads share one


@dataclass(frozen=True, slots=True)
class Reranker:
    """A cross-encoder on this machine."""

    name: str
    folder: Path


def resolve_reranker(name: str) -> Reranker:
    """The cross-encoder that `name` means, found but not loaded.

    Raises `ModelUnavailable`, with what to do, when its weights are not here or are of another kind of model.
    """
    folder = Path(name).expanduser()
    if not folder.is_dir():
        cached = _cached(name)
        if cached is None:
            raise ModelUnavailable(f"the weights of the reranker {name} are not on this machine. {_REMEDY}")
        folder = cached
    config = _config(folder)
    weights = [*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")]
    if not weights or not config:
        lacks = "weights (*.safetensors)" if config else "config.json"
        raise ModelUnavailable(f"{folder} is not a cross-encoder: {lacks} missing. {_REMEDY}")
    architectures, labels = config.get("architectures"), config.get("id2label")
    if not _classifies(architectures) or not _has_one_label(labels):
        # transformers would give such a model a head of random weights and only warn.
        raise ModelUnavailable(
            f"{folder} is not a cross-encoder with one score: its architecture is {architectures}. {_REMEDY}"
        )
    return Reranker(name, folder.resolve())


_REMEDY = (
    "Reranking is never skipped silently: search without it, or, where there is a network, run "
    f"`hf download {DEFAULT_RERANKER} --local-dir FOLDER`, copy FOLDER here, and set it as `reranker` in "
    "pincite.toml or as PINCITE_RERANKER"
)


def score(question: str, passages: Sequence[str], reranker: Reranker) -> Scores:
    """float64[passages], the logit of each passage; equal passages get equal bits.

    Raises `ModelUnavailable` when the weights can't be loaded or give no numbers.
    """
    texts = list(dict.fromkeys(passages))
    if not texts:
        return np.empty(0, dtype=np.float64)
    with _scoring:
        logits = _load(reranker).predict(
            [(question, text) for text in texts],
            batch_size=RERANK_DEPTH,
            show_progress_bar=False,
        )
    scores = np.asarray(logits, dtype=np.float64)
    if scores.shape != (len(texts),) or not np.isfinite(scores).all():
        raise ModelUnavailable(
            f"the reranker {reranker.name} at {reranker.folder} gave no score for each passage: its files are "
            f"damaged. {_REMEDY}"
        )
    by_text = dict(zip(texts, scores.tolist(), strict=True))
    return np.array([by_text[text] for text in passages], dtype=np.float64)


def reordered(ranked: Sequence[Ranked], scores: Scores, order: Order = as_numbered) -> list[Ranked]:
    """The list with its first `len(scores)` rows by score, ties by chunk id; the others follow as they were.

    Every row remembers its rank before.
    """
    before = [one._replace(rank_before=rank) for rank, one in enumerate(ranked, start=1)]
    first = [
        one._replace(rerank_score=value)
        for one, value in zip(before[: len(scores)], scores.tolist(), strict=True)
    ]
    places = order(np.array([one.row for one in first], dtype=np.int64)).tolist()
    by_score = sorted(
        zip(first, places, strict=True), key=lambda pair: (-(pair[0].rerank_score or 0.0), pair[1])
    )
    return [one for one, _ in by_score] + before[len(scores) :]


@lru_cache(maxsize=1)
def _load(reranker: Reranker) -> "CrossEncoder":
    """The loaded model, shared by all searchers of this process."""
    stay_offline()
    import torch
    from safetensors import SafetensorError
    from sentence_transformers import CrossEncoder
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # of transformers
    length = _config(reranker.folder).get("max_position_embeddings")
    try:
        encoder: CrossEncoder = CrossEncoder(
            str(reranker.folder),
            device="cpu",
            local_files_only=True,
            max_length=length if isinstance(length, int) else None,
            activation_fn=torch.nn.Identity(),  # a sigmoid would make ties of all good passages
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise ModelUnavailable(
            f"the reranker in {reranker.folder} can't be loaded: {error}. {_REMEDY}"
        ) from error
    return encoder


def _cached(name: str) -> Path | None:
    """The folder of a hub name in the cache of this machine."""
    stay_offline()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        return None


def _config(folder: Path) -> dict[str, object]:
    path = folder / "config.json"
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelUnavailable(f"{path} is damaged: {error}. Copy the model again") from error
    return value if isinstance(value, dict) else {}


def _classifies(architectures: object) -> bool:
    names = architectures if isinstance(architectures, list) else []
    return any(str(name).endswith("ForSequenceClassification") for name in names)


def _has_one_label(labels: object) -> bool:
    return isinstance(labels, dict) and len(labels) == 1  # two, which is the default, are not written
