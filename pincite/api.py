"""The public API: one object for all that a program does with an index (docs/python.md)."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pincite.flows.settings import load_settings
from pincite.looking import looking
from pincite.retrieval.answers.ask import Refusal, ask
from pincite.retrieval.answers.citations import Citation
from pincite.retrieval.answers.resolve import Unresolved, resolve
from pincite.retrieval.filters import NO_FILTERS, Filters
from pincite.retrieval.ranking import Mode
from pincite.retrieval.searcher import Searcher
from pincite.retrieval.threshold import MOST_PASSAGES
from pincite.schemas.errors import SourceError, UsageError
from pincite.schemas.records import Collection, CollectionOutcome, Counts, Hit
from pincite.schemas.settings import Settings
from pincite.storage.queries.index_report import (
    DocumentReport,
    IndexReport,
    document_reports,
    index_report,
    progress,
)
from pincite.storage.runs.collections import read_collections, require_known
from pincite.storage.snapshots.index import Index
from pincite.tasks.steps.configuration import configuration, require_space_of
from pincite.tasks.steps.plan import CollectionChoice, UpdateRequest
from pincite.tasks.update import opened_for
from pincite.updating import RunOptions, bring_up_to_date, chosen_failures, summed

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from pincite.dashboard.views.passages import DocumentPassage

_LOOK_S = 0.5  # between two looks at a run for its progress


@dataclass(frozen=True, slots=True)
class UpdateProgress:
    """How far the run over one source is."""

    source: str
    done: int  # documents with an outcome
    total: int
    states: Mapping[str, int]  # documents by state


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """What a question found, and what a model made of it."""

    text: str | None  # None where nothing was found, or where the settings name no endpoint
    refused: bool  # nothing found answers: no model was called
    citations: tuple[Citation, ...]  # by the numbers that the answer uses, the first is [1]
    cited: tuple[int, ...]  # numbers that the answer uses, in the order of their first use
    unresolved: tuple[Unresolved, ...]  # numbers, claims, links and quotes without a source
    prompt: str | None  # what a model is given
    threshold: float
    doubt: str  # why the threshold may not fit this index, "" when it does
    refusal: Refusal  # why it was refused, "" when it was not
    evidence: (
        float | None
    )  # how likely it is that the passages answer, from 0 to 1; None where it was not measured


def open(path: str | os.PathLike[str] = "pincite-index", settings: Settings | None = None) -> "OpenIndex":
    """The index in a folder, which the first `update` makes. Use it as a context manager, or close it.

    Without `settings` they are those of `pincite.toml` in the working directory and of the environment.
    """
    return OpenIndex(Path(path), load_settings() if settings is None else settings)


class OpenIndex:
    """One index. Threads may share it; each search sees the newest version at its time, whole.

    Nothing here needs or blocks an event loop by tricks: in async code call it by `asyncio.to_thread`. Every error
    that is raised on purpose is a `PinciteError`.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self.settings = settings
        self._lock = threading.Lock()
        self._updating = threading.Lock()
        self._opened: tuple[Index, Searcher] | None = None
        self._closed = False

    def __enter__(self) -> "OpenIndex":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """May be called again. What is called afterwards raises `UsageError`."""
        with self._lock:
            self._closed = True
            opened, self._opened = self._opened, None
        if opened is not None:
            opened[1].close()  # with its index

    def update(
        self,
        source: str | os.PathLike[str] | None = None,
        *,
        collection: str | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        confirmed_deletions: int | None = None,
        progress: Callable[[UpdateProgress], None] | None = None,
    ) -> Counts:
        """The index brought up to date with a folder or a URL, or with all its collections when none is named.

        `progress` hears of each run that reads documents: at its beginning, twice a second, and at its end.
        Documents that fail are counted, and listed by `documents(state="failed")`. Raises `SourceError` when a
        source can't be listed (after the others were), `IndexBusy` when another run holds the index.
        """
        self._require_open()
        given = CollectionChoice(
            None if source is None else os.fspath(source),
            collection,
            None if include is None else tuple(include),
            None if exclude is None else tuple(exclude),
        )
        request = UpdateRequest(confirmed_deletions=confirmed_deletions)
        with opened_for(self.path, self.settings, given) as (opened, chosen):
            return self._run(opened, chosen, request, progress)

    def retry(
        self,
        *documents: str,
        reason: str | None = None,
        collection: str | None = None,
        progress: Callable[[UpdateProgress], None] | None = None,
    ) -> Counts:
        """Failed documents tried again, by path or id; all when none is named. What else is new is indexed too.

        `reason`: only failures of this kind or stage, or with these words in their reason. Raises as `update` does,
        and `UsageError` for a name that is no failed document.
        """
        index = self._index()
        require_known(index, collection)
        failed = document_reports(index, None, state="failed")
        chosen = chosen_failures(failed, documents, reason, collection)
        if not chosen:
            return Counts()
        sources = {one.source for one in chosen}
        collections = [one for one in read_collections(index) if one.source in sources]
        ids = tuple(sorted(one.document_id for one in chosen))
        require_space_of(index, self.settings)
        return self._run(index, collections, UpdateRequest(retry=ids), progress)

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        mode: Mode = "hybrid",
        threshold: float | None = None,
        vector: "NDArray[Any] | None" = None,
        filters: Filters = NO_FILTERS,
        rerank: bool = False,
    ) -> tuple[Hit, ...]:
        """The best `k` passages, the best first; with a threshold at most four, and () is a refusal.

        `vector`: the query as `embed` gives it, float32 of the index's dimension and unit length. Raises
        `UsageError` for wrong input, `SpaceMismatch` and `ModelUnavailable` as `Searcher.search` does.
        """
        found = self._searcher().search(
            query, mode, k, threshold, vector=vector, filters=filters, rerank=rerank
        )
        return found.hits

    def embed(self, queries: Sequence[str]) -> "NDArray[Any]":
        """float32 `[queries, dimension]`, unit rows: what `search` takes as `vector`."""
        return self._searcher().embed_queries(queries)

    def ask(
        self,
        question: str,
        *,
        k: int = MOST_PASSAGES,
        mode: Mode = "hybrid",
        threshold: float | None = None,
        filters: Filters = NO_FILTERS,
        rerank: bool = False,
    ) -> CheckedAnswer:
        """At most four passages under the threshold (the index's own when none is given), and the model's answer.

        Without an endpoint in the settings there are a prompt and its citations. Raises `AnswerFailed` when the
        endpoint gives no whole answer.
        """
        from pincite.retrieval.answers.llm_client import KEY_VARIABLE, endpoint_of, stream_answer

        endpoint = endpoint_of(self.settings.answer, os.environ.get(KEY_VARIABLE, ""))
        asked = ask(self._searcher(), question, threshold, mode, k, filters=filters, rerank=rerank)
        text = "".join(stream_answer(endpoint, asked.prompt)) if endpoint and asked.prompt else None
        resolved = None if text is None else resolve(text, asked.citations)
        return CheckedAnswer(
            text=text,
            refused=asked.refused,
            citations=asked.citations,
            cited=resolved.cited if resolved else (),
            unresolved=(*asked.unproved, *(resolved.unresolved if resolved else ())),
            prompt=asked.prompt,
            threshold=asked.threshold,
            doubt=asked.doubt,
            refusal=asked.refusal,
            evidence=asked.evidence,
        )

    def cite(self, passage: str, *, context: int = 300) -> "DocumentPassage":
        """The passage "DOCUMENT#char=from,to" (also "DOCUMENT#page=3&char=from,to") with what stands around it.

        Raises `UsageError` for what is no passage, `NotFound` for one that the index does not have.
        """
        from pincite.dashboard.views.passages import open_passage

        return open_passage(self._index(), passage, context)[0]

    def documents(
        self, *, state: str | None = None, collection: str | None = None
    ) -> tuple[DocumentReport, ...]:
        """The documents, sorted by path. `state`: indexed, failed, stale, pending or running."""
        index = self._index()
        require_known(index, collection)
        found = document_reports(index, configuration(index, self.settings), state)
        return tuple(one for one in found if collection in (None, one.collection))

    def status(self) -> IndexReport:
        """Counts, the model version, what is stale, the last run."""
        index = self._index()
        return index_report(index, configuration(index, self.settings))

    def sql(self, statement: str) -> "pa.Table":
        """What a query over documents, failures, chunks, texts and postings finds (DuckDB, read only)."""
        from pincite.storage.queries.sql import query

        return query(self._index(), statement)

    def _require_open(self) -> None:
        if self._closed:
            raise UsageError(f"the index {self.path} was closed: open it again with pincite.open")

    def _index(self) -> Index:
        return self._both()[0]

    def _searcher(self) -> Searcher:
        return self._both()[1]

    def _both(self) -> tuple[Index, Searcher]:
        with self._lock:
            self._require_open()
            if self._opened is None:
                index = Index.open(self.path)
                self._opened = index, Searcher(index, self.settings)
            return self._opened

    def _run(
        self,
        index: Index,
        collections: Sequence[Collection],
        request: UpdateRequest,
        told: Callable[[UpdateProgress], None] | None,
    ) -> Counts:
        @contextmanager
        def during(opened: Index, source: str) -> Iterator[None]:
            with _following(opened, source, told) if told else nullcontext():
                yield

        options = RunOptions(request, during)
        with self._updating:  # Prefect's settings are those of one run
            done = _outside_of_a_loop(lambda: bring_up_to_date(index, collections, self.settings, options))
        if errors := [one.error for one in done if one.error]:
            raise SourceError("; ".join(errors))
        return summed(done)


def _outside_of_a_loop(run: Callable[[], list[CollectionOutcome]]) -> list[CollectionOutcome]:
    """Run here, where Ctrl-C is heard; or in a thread of its own where this one has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    with ThreadPoolExecutor(1, thread_name_prefix="pincite") as thread:
        return thread.submit(run).result()


@contextmanager
def _following(opened: Index, source: str, told: Callable[[UpdateProgress], None]) -> Iterator[None]:
    def look() -> None:
        states = progress(opened, source)
        done = states.get("indexed", 0) + states.get("failed", 0)
        told(UpdateProgress(source, done, sum(states.values()), dict(states)))

    look()
    with looking(look, _LOOK_S):
        yield
    look()
