"""One index at one version, ready to be asked many questions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pincite.encoders.models import Model, resolve_model
from pincite.encoders.terms import TOKENIZER
from pincite.encoders.wordpieces import WordPieces
from pincite.evaluation.passages import Passages
from pincite.evaluation.rebuild import embedder_of
from pincite.evaluation.scoring import Ranker
from pincite.retrieval import dense
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.windows import Windows
from pincite.schemas.errors import SpaceMismatch
from pincite.schemas.evaluation import Question
from pincite.schemas.settings import Settings, completed
from pincite.storage.snapshots.snapshot import Snapshot


@dataclass(frozen=True)
class Subject:
    """A snapshot with what reads it. `settings` name its model and have its chunker."""

    snapshot: Snapshot
    settings: Settings
    model: Model
    passages: Passages
    ranker: Ranker

    @cached_property
    def wordpieces(self) -> WordPieces:
        return WordPieces(self.model)

    def grows(self, mode: str) -> bool:
        """Whether the passages of a mode are windows."""
        return mode == "hybrid" and self.settings.windows

    def embed(self, questions: Sequence[Question]) -> dense.Matrix:
        """float32[questions, dimension], unit rows, all in one call."""
        return np.asarray(embedder_of(self.model).embed_queries([one.question for one in questions]))


def open_subject(snapshot: Snapshot, settings: Settings) -> Subject:
    """Raises `SpaceMismatch` when the snapshot is of another model or tokenizer than these settings."""
    own = completed(settings, snapshot.model_setting)
    space, model = snapshot.space, resolve_model(own.model)
    if (space.model, space.fingerprint, space.dimension) != (model.name, model.fingerprint, model.dimension):
        raise SpaceMismatch(
            f"the index is of the model version {space}; the settings ask for the model {model.name} (weights "
            f"{model.fingerprint[:12]}, {model.dimension} dimensions): set the model to {space.model}"
        )
    if space.tokenizer != TOKENIZER:
        raise SpaceMismatch(
            f"the index is of the model version {space}; this Pincite cuts queries into terms with {TOKENIZER}: "
            "index again"
        )
    corpus = Corpus(snapshot)
    windows = Windows(corpus) if settings.windows else None
    return Subject(
        snapshot,
        replace(own, chunker=space.chunker),
        model,
        Passages(snapshot, corpus, windows),
        Ranker(corpus, windows),
    )
