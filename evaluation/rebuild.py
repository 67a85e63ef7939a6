"""An index of the same texts with another chunker or model, in a temporary folder: no file is extracted again."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from pincite.encoders.embedding import Embedder, load_embedder
from pincite.encoders.models import Model, resolve_model
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.chunkers import is_whole
from pincite.schemas.errors import IndexBroken
from pincite.schemas.records import Extraction, Job, Policy, Prepared, SourceFile
from pincite.schemas.settings import Settings
from pincite.storage.documents.extractions import read_extractions
from pincite.storage.runs.commit import lease, publish
from pincite.storage.runs.registration import register
from pincite.storage.runs.runs import Run, begin_run, finish_run
from pincite.storage.segments.arrow_rows import Finished
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import LiveDocument, Snapshot
from pincite.tasks.chunking.by_model import chunks_for_model
from pincite.tasks.steps.lexical import term_frequencies
from pincite.tasks.steps.plan import policy_of, space_of
from pincite.tasks.steps.publish import GROUP_CHUNKS, check_invariants

_LEASE_S = 24 * 3600.0  # nobody else works on a temporary index

Stored = tuple[LiveDocument, Extraction]


@contextmanager
def rebuilt(snapshot: Snapshot, settings: Settings, embedder: Embedder | None = None) -> Iterator[Path]:
    """The folder of an index of the documents of `snapshot`, made with the model and chunker of `settings`.

    `embedder` is one of that model; None loads one.
    It is gone after the block. Documents keep their paths, not their ids. A reference chunker may leave text
    out; a document of which it leaves nothing has no chunks here. Raises what a reindex raises.
    """
    with TemporaryDirectory(prefix="pincite-evaluation-") as folder:
        path = Path(folder) / "index"
        model = resolve_model(settings.model)
        builder = _Builder(settings, WordPieces(model), embedder or embedder_of(model))
        with Index.create(path, space_of(model, settings)) as index:
            for nth, documents in enumerate(_by_repetition(read_extractions(snapshot))):
                with begin_run(index, "evaluate", f"stored texts {nth}") as run:
                    builder.index(run, documents)
                    finish_run(run)
        yield path


@lru_cache(maxsize=2)
def embedder_of(model: Model) -> Embedder:
    """Shared by what one evaluation embeds with a model."""
    return load_embedder(model, threads=os.cpu_count())


def _by_repetition(stored: Iterable[Stored]) -> list[list[Stored]]:
    """The documents in lists in which each path stands once: two sources may both have a README.md."""
    lists: list[list[Stored]] = []
    times: Counter[str] = Counter()
    for document, extraction in stored:
        if times[document.path] == len(lists):
            lists.append([])
        lists[times[document.path]].append((document, extraction))
        times[document.path] += 1
    return lists


class _Builder:
    """Chunks, embeds and publishes stored documents, as a reindex does after extraction."""

    def __init__(self, settings: Settings, wordpieces: WordPieces, embedder: Embedder) -> None:
        self._settings = settings
        self._policy: Policy = policy_of(settings)
        self._wordpieces = wordpieces
        self._embedder = embedder

    def index(self, run: Run, stored: list[Stored]) -> None:
        documents = {document.path: (document, extraction) for document, extraction in stored}
        files = [_source_file(document) for document, _ in stored]
        group: list[Finished] = []
        for document_id in register(run, sorted(files, key=lambda file: file.path), self._policy).pending:
            job = lease(run, document_id, self._policy, _LEASE_S)
            if job is None:
                raise IndexBroken(f"the temporary index {run.index.path} lost the document {document_id}")
            group.append(self._finished(job, *documents[job.path]))
            if sum(len(one.prepared.chunks) for one in group) >= GROUP_CHUNKS:
                publish(run, group, self._policy)
                group = []
        if group:
            publish(run, group, self._policy)

    def _finished(self, job: Job, document: LiveDocument, extraction: Extraction) -> Finished:
        settings, wordpieces = self._settings, self._wordpieces
        made = chunks_for_model(extraction, document.title, settings.chunker, wordpieces)
        chunks = made.chunks
        prepared = Prepared(
            extraction,
            chunks,
            term_frequencies(chunks),
            language=document.language,
            encoder_fit=not made.unfit,
        )
        vectors = self._embedder.embed([one.text for one in chunks])
        if chunks:
            whole = is_whole(settings.chunker)
            check_invariants(prepared, vectors, wordpieces.model.dimension, whole)
        return Finished(job, document.title, prepared, vectors)


def _source_file(document: LiveDocument) -> SourceFile:
    return SourceFile(document.path, document.path, document.characters, 0, 0, document.source_sha256)
