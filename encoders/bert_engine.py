"""The packaged all-MiniLM-L6-v2, BERT with mean pooling: its forward pass alone, in torch.

The import of sentence-transformers costs five CPU seconds, torch alone 1.4; a search or a run with one changed
document makes a handful of vectors. They differ from those of sentence-transformers by rounding
(tests/encoders/test_bert_engine.py). Folders that a user names go to sentence-transformers, whatever they hold.

Devlin et al. 2019, arXiv:1810.04805; the mean over word-pieces and the unit length of Sentence-BERT, Reimers and
Gurevych 2019, arXiv:1908.10084.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from pincite.encoders.models import Model

if TYPE_CHECKING:
    from torch import Tensor

Vectors = NDArray[np.float32]

_BATCH = 8  # texts, sorted by length; as encoders.embedding


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


class BertVectors:
    """Texts into float32 unit rows. `threads` of torch; None leaves its default."""

    def __init__(self, model: Model, threads: int | None) -> None:
        """Raises what safetensors, tokenizers and torch raise for damaged files."""
        import torch
        from safetensors.torch import load_file

        if threads is not None:
            torch.set_num_threads(threads)
        self._model = model
        config = _json(model.folder / "config.json")
        self._heads, self._layers = int(config["num_attention_heads"]), int(config["num_hidden_layers"])
        self._eps, padding = float(config["layer_norm_eps"]), int(config["pad_token_id"])
        stored = load_file(model.folder / "model.safetensors")
        self._weights = {
            name: tensor.float() for name, tensor in stored.items() if tensor.is_floating_point()
        }
        self._tokenizer = Tokenizer.from_file(str(model.folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(model.window)  # the file of MiniLM cuts at 128 of 256
        self._tokenizer.enable_padding(pad_id=padding)
        self.documents([""])  # a missing weight, or one of another shape, is found now

    def documents(self, texts: Sequence[str]) -> Vectors:
        return self._rows([self._model.document_prompt + text for text in texts])

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self._rows([self._model.query_prompt + text for text in texts])

    def _rows(self, texts: Sequence[str]) -> Vectors:
        import torch

        rows = np.empty((len(texts), self._model.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda place: (-len(texts[place]), place))
        with torch.inference_mode():
            for first in range(0, len(texts), _BATCH):
                places = order[first : first + _BATCH]
                encodings = self._tokenizer.encode_batch([texts[place] for place in places])
                ids = torch.tensor([one.ids for one in encodings])
                mask = torch.tensor([one.attention_mask for one in encodings], dtype=torch.bool)
                rows[places] = self._pooled(ids, mask).numpy()
        return rows

    def _pooled(self, ids: "Tensor", mask: "Tensor") -> "Tensor":
        """float32 [texts, dimension], unit rows, of word-pieces [texts, pieces] where `mask` is true."""
        from torch.nn.functional import normalize

        states = self._embedded(ids)
        kept = None if bool(mask.all()) else mask[:, None, None, :]
        for number in range(self._layers):
            states = self._layer(f"encoder.layer.{number}", states, kept)
        weights = mask[:, :, None].to(states.dtype)
        return normalize((states * weights).sum(1) / weights.sum(1), dim=1)

    def _embedded(self, ids: "Tensor") -> "Tensor":
        from torch.nn.functional import embedding

        name = "embeddings"
        words = embedding(ids, self._weights[f"{name}.word_embeddings.weight"])
        kinds = self._weights[f"{name}.token_type_embeddings.weight"][0]
        places = self._weights[f"{name}.position_embeddings.weight"][: ids.shape[1]]
        return self._normed(f"{name}.LayerNorm", words + kinds + places)

    def _layer(self, name: str, states: "Tensor", kept: "Tensor | None") -> "Tensor":
        from torch.nn.functional import gelu, scaled_dot_product_attention

        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", states)
            .view(*states.shape[:2], self._heads, -1)
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = scaled_dot_product_attention(query, key, value, attn_mask=kept).transpose(1, 2).flatten(2)
        seen = self._linear(f"{name}.attention.output.dense", seen)
        states = self._normed(f"{name}.attention.output.LayerNorm", seen + states)
        wide = gelu(self._linear(f"{name}.intermediate.dense", states))
        return self._normed(f"{name}.output.LayerNorm", self._linear(f"{name}.output.dense", wide) + states)

    def _linear(self, name: str, states: "Tensor") -> "Tensor":
        from torch.nn.functional import linear

        return linear(states, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _normed(self, name: str, states: "Tensor") -> "Tensor":
        from torch.nn.functional import layer_norm

        weight = self._weights[f"{name}.weight"]
        return layer_norm(states, weight.shape, weight, self._weights[f"{name}.bias"], self._eps)
