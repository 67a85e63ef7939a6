"""What a folder that sentence-transformers saved says of its model: files, dimension, window, prompts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pincite.schemas.errors import ModelUnavailable

_NEEDED = ("config.json", "tokenizer.json")
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")  # in the order in which sentence-transformers takes them
# Read by sentence-transformers or transformers when it makes a vector; the rest (README, data_config) is not.
_CONFIGS = (
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
)
# The names under which `SentenceTransformer.encode_query` and `encode_document` look for a prompt.
_QUERY_PROMPTS = ("query",)
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")
# Their positions begin behind that of the padding token: of 514 rows 512 can be used.
_SHIFTED = ("roberta", "camembert", "xlm-roberta", "xlm-roberta-xl", "mpnet", "longformer")


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """`files`: all that decide a vector, sorted. Prompts are "" when the model has none."""

    files: tuple[Path, ...]
    dimension: int
    window: int
    query_prompt: str
    document_prompt: str


def read_facts(folder: Path) -> FolderFacts:
    """The facts of the model in `folder`. Raises `ModelUnavailable` when it is none, or a file is damaged."""
    missing = [needed for needed in _NEEDED if not (folder / needed).is_file()]
    weights = _weights(folder)
    if missing or not weights:
        lacks = ", ".join([*missing, *([] if weights else ["weights (*.safetensors)"])])
        raise ModelUnavailable(
            f"{folder} is not a sentence-transformers model: {lacks} missing. Give a folder that "
            "sentence-transformers saved, with a fast tokenizer."
        )
    return FolderFacts(
        files=tuple(sorted({*weights, *_configs(folder)})),
        dimension=_dimension(folder),
        window=_window(folder),
        query_prompt=_prompt(folder, _QUERY_PROMPTS),
        document_prompt=_prompt(folder, _DOCUMENT_PROMPTS),
    )


def _weights(folder: Path) -> list[Path]:
    for pattern in _WEIGHTS:
        if found := sorted(folder.glob(pattern)):
            return [*found, *sorted(folder.glob(f"[0-9]*_*/{pattern}"))]
    return []


def _configs(folder: Path) -> list[Path]:
    top = [folder / name for name in _CONFIGS if (folder / name).is_file()]
    return [*top, *sorted(folder.glob("[0-9]*_*/*.json"))]


def _json(path: Path) -> dict[str, object]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelUnavailable(f"{path} is damaged: {error}. Copy the model again.") from error
    return value if isinstance(value, dict) else {}


def _integers(config: dict[str, object], *keys: str) -> list[int]:
    return [value for key in keys if isinstance(value := config.get(key), int) and value > 0]


def _dimension(folder: Path) -> int:
    """Of the last module that sets one (Dense, Pooling), else of the transformer itself."""
    sizes = _integers(_json(folder / "config.json"), "dim", "hidden_size")[-1:]
    for config in sorted(
        folder.glob("[0-9]*_*/config.json"), key=lambda path: int(path.parent.name.split("_")[0])
    ):
        sizes += _integers(_json(config), "word_embedding_dimension", "embedding_dimension", "out_features")[
            -1:
        ]
    if not sizes:
        raise ModelUnavailable(f"{folder} names no embedding dimension in config.json or its modules.")
    return sizes[-1]


def _window(folder: Path) -> int:
    """What the model was trained to take, not where its tokenizer.json truncates (128 for MiniLM)."""
    config = _json(folder / "config.json")
    positions = _integers(config, "max_position_embeddings")
    if config.get("model_type") in _SHIFTED:
        padding = config.get("pad_token_id")
        positions = [rows - (padding + 1 if isinstance(padding, int) else 2) for rows in positions]
    own = _integers(_json(folder / "sentence_bert_config.json"), "max_seq_length")
    sizes = [
        *(own or _integers(_json(folder / "tokenizer_config.json"), "model_max_length")),
        *positions,
    ]
    if not sizes:
        raise ModelUnavailable(
            f"{folder} names no window: max_seq_length in sentence_bert_config.json is missing."
        )
    return min(sizes)


def _prompt(folder: Path, names: Sequence[str]) -> str:
    """The first text under `names` among the model's prompts; its default prompt when it has none of the names."""
    path = folder / "config_sentence_transformers.json"
    config = _json(path)
    prompts = config.get("prompts")
    known = prompts if isinstance(prompts, dict) else {}
    named = [known[name] for name in names if name in known]
    default = config.get("default_prompt_name")
    if not named and default is not None:
        if default not in known:
            raise ModelUnavailable(f"{path} has no prompt {default!r}: put its text under `prompts`.")
        named = [known[default]]
    return next((prompt for prompt in named if isinstance(prompt, str) and prompt), "")
