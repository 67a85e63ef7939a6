"""Standby: what is published goes, in the same transaction, to each space that is kept beside the live one."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import numpy as np

from pincite.encoders.models import Model, name_of, resolve_model
from pincite.schemas.chunkers import is_whole
from pincite.schemas.errors import (
    ChildFailed,
    DocumentError,
    Failure,
    ModelUnavailable,
    SpaceMismatch,
    WorkerDied,
)
from pincite.schemas.records import Extraction, Space
from pincite.storage.segments.arrow_rows import Blocked, Copy, Finished, copy_of
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import Kept, spaces_of
from pincite.tasks.migration.derive import (
    Derived,
    DeriveOrder,
    Known,
    keeps_chunks,
    keeps_vectors,
    prepared_with,
)
from pincite.tasks.migration.probes import Embed, check_probes
from pincite.tasks.sandbox.pool import Pool, StageFailed, pool
from pincite.tasks.steps.configuration import makeable
from pincite.tasks.steps.embed import EmbedOrder
from pincite.tasks.steps.plan import space_of_model
from pincite.tasks.steps.publish import check_invariants

EMBEDDER_MEMORY_BYTES = 6 << 30
PROBES_S = 120.0
TRIES = 3  # of texts that are no document's, when the child is killed
CHUNK_S = 2.0  # allowance for a chunk: the slowest model takes .25 s CPU, on a machine that does more besides

_logger = logging.getLogger(__name__)

Derive = Callable[[Sequence[Known], bool], Sequence[Derived | Failure]]
"""Documents in another space, in their order; the flag says whether they are embedded."""


@dataclass(frozen=True, slots=True)
class Standby:
    """A space beside the live one, and what makes documents for it."""

    kept: Kept
    live: Space
    derive: Derive
    embed: Embed

    @property
    def keeps_chunks(self) -> bool:
        return keeps_chunks(self.live, self.kept.space)

    @property
    def keeps_vectors(self) -> bool:
        return keeps_vectors(self.live, self.kept.space)


@contextmanager
def standby(kept: Kept, live: Space, model: Model, family: str, deadline_s: float) -> Iterator[Standby]:
    """With a child process of its own, which loads the model when the first document comes."""
    first = ("embed", EmbedOrder(name_of(model), ()))
    with pool(1, EMBEDDER_MEMORY_BYTES, family, first=first) as children:
        made = _Children(children, model, kept.space, deadline_s)
        yield Standby(kept, live, made, made.embed)


class _Children:
    """Derives in a child process. When it ends in a batch, each document is tried alone: one is to blame.

    A crash with one document is no proof against it, since whoever killed the child may not have meant it: it is to
    blame when it ends a second one alone.
    """

    def __init__(self, children: Pool, model: Model, space: Space, deadline_s: float) -> None:
        self._pool = children
        self._model = model
        self._space = space
        self._deadline_s = deadline_s
        self._crashed: set[str] = set()  # documents that ended a child alone

    def __call__(self, documents: Sequence[Known], embed: bool) -> Sequence[Derived | Failure]:
        try:
            return self._run(documents, embed)
        except StageFailed as error:
            if len(documents) == 1 and error.failure.kind != WorkerDied.kind:
                return [error.failure]
            return [self._alone(one, embed) for one in documents]

    def _alone(self, document: Known, embed: bool) -> Derived | Failure:
        failure: Failure | None = None
        while failure is None:
            try:
                return self._run([document], embed)[0]
            except StageFailed as error:
                if error.failure.kind != WorkerDied.kind or document.document_id in self._crashed:
                    failure = error.failure
                self._crashed.add(document.document_id)
        return failure

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return embed_in(self._pool, self._model, texts)

    def _run(self, documents: Sequence[Known], embed: bool) -> Sequence[Derived | Failure]:
        order = DeriveOrder(name_of(self._model), self._space, tuple(documents), embed)
        deadline_s = self._deadline_s + CHUNK_S * sum(len(one.chunks) for one in documents)
        made: tuple[Derived, ...] = self._pool.run("derive", order, deadline_s)
        return made


@contextmanager
def standbys(index: Index, family: str, deadline_s: float) -> Iterator[list[Standby]]:
    """What keeps each space beside the live one up to date; a warning names each for which nothing can."""
    live, *others = spaces_of(index)
    made: list[Standby] = []
    with ExitStack() as children:
        for one in others:
            try:
                each = children.enter_context(standby(one, live.space, model_of(one), family, deadline_s))
                check_probes(index, one, each.embed)
            except (ModelUnavailable, SpaceMismatch, ChildFailed) as error:
                _logger.warning(
                    "the model version %s, kept beside the one that is searched, is not kept up to date: %s. "
                    "Where there is no way back to it, end this with `pincite migrate --remove-old`",
                    one.space,
                    error,
                )
                continue
            made.append(each)
        yield made


def embed_in(children: Pool, model: Model, texts: Sequence[str]) -> np.ndarray:
    """float32 [texts, dimension], of texts that are no document's. Raises `ChildFailed` when there is no result."""
    for left in reversed(range(TRIES)):
        try:
            vectors: np.ndarray = children.run("embed", EmbedOrder(name_of(model), tuple(texts)), PROBES_S)
            return vectors
        except StageFailed as error:
            if not left or error.failure.kind != WorkerDied.kind:
                raise ChildFailed(f"{model.name} gives no vectors: {error.failure.reason}") from error
    raise AssertionError("the last try returns or raises")


def model_of(kept: Kept) -> Model:
    """The model of a space. Raises `ModelUnavailable` when this Pincite or this machine can't make its vectors."""
    if not makeable(kept.space):
        raise ModelUnavailable(
            f"documents of {kept.space} can't be made by this Pincite: use the one that made them"
        )
    model = resolve_model(kept.setting)
    if space_of_model(model, kept.space.chunker) != kept.space:
        raise ModelUnavailable(
            f"{kept.setting} is now {model.name} (weights {model.fingerprint[:12]}, {model.dimension} "
            f"dimensions), not the model of {kept.space}: put its files back"
        )
    return model


def copy_for(standby: Standby, one: Finished) -> Copy | Blocked:
    """A document that was made for the live space, as the other has it, or why it can't have it.

    Nothing that is wrong with the other space fails the document.
    """
    try:
        return _copy_for(standby, one)
    except ChildFailed as error:
        return blocked(standby, one, str(error))


def _copy_for(standby: Standby, one: Finished) -> Copy | Blocked:
    extraction = one.prepared.extraction
    known = Known(one.job.document_id, one.title, one.prepared.chunks)
    whole = replace(known, extraction=extraction)
    derived = _derive(standby, known if standby.keeps_chunks else whole)
    if isinstance(derived, Derived) and not derived.chunks and standby.keeps_chunks:
        derived = _derive(standby, whole)
    if isinstance(derived, Failure):
        return blocked(standby, one, derived.reason)
    return made_copy(standby, one, derived, extraction, one.vectors)


def _derive(standby: Standby, known: Known) -> Derived | Failure:
    return standby.derive([known], not standby.keeps_vectors)[0]


def made_copy(
    standby: Standby, one: Finished, derived: Derived, extraction: Extraction, stored: np.ndarray
) -> Copy | Blocked:
    """The rows of what was derived, once its invariants hold; `stored` are the vectors that it may keep."""
    space = standby.kept.space
    vectors = stored if derived.vectors is None else derived.vectors
    prepared = prepared_with(derived, extraction)
    try:
        check_invariants(prepared, vectors, space.dimension, is_whole(space.chunker))
        return copy_of(replace(one, prepared=prepared, vectors=vectors), standby.kept.space_id, space)
    except (DocumentError, ValueError) as error:
        return blocked(standby, one, str(error))


def blocked(standby: Standby, one: Finished, reason: str) -> Blocked:
    """Why a space can't have a document."""
    return Blocked(standby.kept.space_id, one.job.document_id, one.job.revision, reason)
