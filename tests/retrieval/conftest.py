"""Small real indexes, written through the storage room."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from pincite.encoders.embedding import Embedder, load_embedder
from pincite.encoders.languages import language_of
from pincite.encoders.models import resolve_model
from pincite.schemas.errors import Failure
from pincite.schemas.records import (
    UNFIT,
    Chunk,
    DocumentWarning,
    Extraction,
    Page,
    Policy,
    Prepared,
    SourceFile,
    Space,
    Word,
)
from pincite.schemas.settings import DEFAULT_CHUNKER, DEFAULT_MODEL
from pincite.storage.runs.commit import fail, lease, publish
from pincite.storage.runs.registration import register
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.segments.arrow_rows import Finished
from pincite.storage.snapshots.index import Index
from pincite.tasks.steps.lexical import term_frequencies
from pincite.tasks.steps.plan import space_of_model
from tests.retrieval.small_cross_encoder import train_cross_encoder
from tests.sharing import made_once, session_folder

POLICY = Policy(recipe="recipe", limits="limits", attempts=3)
Vectors = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class SmallIndex:
    """An index in a temporary folder, one chunk a passage. `vectors` go by content; the others are random."""

    path: Path
    space: Space

    def write(
        self,
        documents: Mapping[str, Sequence[str]],
        vectors: Vectors | None = None,
        failing: Sequence[str] = (),
        unread: Sequence[str] = (),
        modified: Mapping[str, datetime] | None = None,
        apart: bool = True,
    ) -> None:
        """One run in which the source holds exactly `documents`: path to passages.

        `apart`: so far from each other that no window grows from one into the next.
        `failing` are paths, `unread` those of documents that the embedding model can't read.
        """
        times = modified or {}
        with Index.create(self.path, self.space) as index, begin_run(index, "index", "/source") as run:
            files = [
                source_file(path, passages, times.get(path)) for path, passages in sorted(documents.items())
            ]
            finished = []
            for document_id in register(run, files, POLICY).pending:
                job = lease(run, document_id, POLICY, 60)
                assert job is not None
                if job.path in failing:
                    assert fail(run, job, Failure("extract", "unreadable", "planted"))
                    continue
                prepared = prepare(documents[job.path], job.path in unread, APART if apart else NEXT)
                matrix = np.array(
                    [self._vector(chunk, vectors or {}) for chunk in prepared.chunks], np.float32
                )
                matrix = matrix.reshape(-1, self.space.dimension)
                finished.append(Finished(job, job.path.title(), prepared, matrix))
            for batch in (finished[::2], finished[1::2]):  # two segments of each kind, with interleaved rows
                assert not batch or publish(run, batch, POLICY)
            finish_run(run)

    def _vector(self, chunk: Chunk, vectors: Vectors) -> np.ndarray:
        if chunk.content in vectors:
            return vectors[chunk.content]
        seed = int.from_bytes(hashlib.sha256(chunk.content.encode()).digest()[:4])
        return unit(np.random.default_rng(seed).standard_normal(self.space.dimension))


def source_file(path: str, passages: Sequence[str], modified: datetime | None = None) -> SourceFile:
    content = "\n\n".join(passages).encode()
    mtime_ns = int(modified.timestamp()) * 1_000_000_000 if modified else 0
    return SourceFile(path, f"/source/{path}", len(content), mtime_ns, 0, hashlib.sha256(content).hexdigest())


NEXT, APART = "\n\n", "\n" * 12
"""Between two passages: the second is more than a window grows over."""


def prepare(passages: Sequence[str], unread: bool = False, between: str = NEXT) -> Prepared:
    chunks, start = [], 0
    for ordinal, passage in enumerate(passages):
        end = start + len(passage)
        chunks.append(Chunk(ordinal, passage, passage, "", f"§{ordinal}", start, end, tokens=1))
        start = end + len(between)
    text = between.join(passages)
    page = Page(7, 0, len(text), 595.0, 842.0, ocr=True, ocr_confidence=81.0)
    words = (Word(0, 4, 81),) if text.startswith("scan") else ()
    warnings = (DocumentWarning(UNFIT, "planted"),) if unread else ()
    extraction = Extraction(
        text, "", "text/plain", "test", "1", pages=(page,), words=words, warnings=warnings
    )
    terms = term_frequencies(chunks)
    return Prepared(extraction, tuple(chunks), terms, language=language_of(passages), encoder_fit=not unread)


def unit(vector: np.ndarray) -> np.ndarray:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def at_distance(vector: np.ndarray, distance: float) -> np.ndarray:
    """A unit vector at this cosine distance from another."""
    wide = vector.astype(np.float64)
    other = np.roll(wide, 1)
    other -= (other @ wide) * wide
    cosine = 1.0 - distance
    return unit(cosine * wide + np.sqrt(1.0 - cosine**2) * other / np.linalg.norm(other))


@pytest.fixture(scope="session")
def minilm() -> Embedder:
    return load_embedder(resolve_model(DEFAULT_MODEL), threads=1)


@pytest.fixture(scope="session")
def live_space() -> Space:
    return space_of_model(resolve_model(DEFAULT_MODEL), DEFAULT_CHUNKER)


@pytest.fixture
def small_index(tmp_path: Path, live_space: Space) -> SmallIndex:
    return SmallIndex(tmp_path / "index", live_space)


@pytest.fixture(scope="session")
def small_index_in(live_space: Space) -> Callable[[Path], SmallIndex]:
    """For who needs more than one."""
    return lambda folder: SmallIndex(folder / "index", live_space)


@pytest.fixture
def distant() -> Callable[[np.ndarray, float], np.ndarray]:
    return at_distance


@pytest.fixture(scope="session")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small cross-encoder, built and trained here."""
    folder = session_folder(tmp_path_factory) / "cross-encoder"
    return made_once(folder, lambda made: train_cross_encoder(made / "model")) / "model"
