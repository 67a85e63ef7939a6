"""What retrieval must reach: each figure against a named alternative in the same run.

python -m benchmarks.retrieval [bm25] [dense] [hybrid] [segments] [evaluation]     all: some minutes, 10 GB of disk
"""

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, get_args

import bm25s
import faiss
import numpy as np
from bm25s.tokenization import Tokenized

from benchmarks.retrieval_index import (
    CHUNKS_A_DOCUMENT,
    VOCABULARY,
    add_commit,
    make_index,
    queries,
    unit_vectors,
    word,
)
from pincite.encoders.models import resolve_model
from pincite.encoders.terms import terms
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.ranking import Mode
from pincite.retrieval.searcher import Searcher, open_index
from pincite.schemas.records import Space
from pincite.schemas.settings import DEFAULT_MODEL, Settings
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.snapshots.index import Index
from pincite.tasks.steps.plan import space_of

WORDS = 90
BM25_WORDS = 40
TOP = 25


class Cost(NamedTuple):
    """Milliseconds."""

    cpu: float
    wall: float


def cost(function: Callable[[], object]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return Cost((time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3)


def medians(*functions: Callable[[int], object], times: int) -> list[Cost]:
    """The median cost of each; they take turns, so that what else the machine does meets all alike."""
    costs: list[list[Cost]] = [[] for _ in functions]
    for turn in range(-3, times):
        for function, seen in zip(functions, costs, strict=True):
            one = cost(lambda f=function, t=turn: f(max(t, 0)))  # type: ignore[misc]
            if turn >= 0:
                seen.append(one)
    return [Cost(*(statistics.median(part) for part in zip(*seen, strict=True))) for seen in costs]


def show(what: str, ours: Cost, other: Cost, against: str, asked: str) -> None:
    print(
        f"{what}: {ours.cpu:.2f} CPU ms ({ours.wall:.2f} wall), {against} {other.cpu:.2f} ({other.wall:.2f}), "
        f"ratio {ours.cpu / other.cpu:.3f} CPU, {ours.wall / other.wall:.3f} wall; asked: {asked}",
        flush=True,
    )


def live_space() -> Space:
    return space_of(resolve_model(DEFAULT_MODEL), Settings())


def refreshed(path: Path) -> Cost:
    with Index.open(path) as index:
        return cost(lambda: refresh_cache(index))


def bm25(folder: Path) -> None:
    asked = queries(100)
    cut = [terms(query) for query in asked]  # both are given terms
    for chunks in (1_000, 50_000, 500_000):
        path = folder / f"bm25-{chunks}"
        drawn = make_index(path, replace(live_space(), dimension=8), chunks, BM25_WORDS)
        refreshed(path)
        other = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numpy")
        vocabulary = {word(number): number for number in range(VOCABULARY)}
        other.index(Tokenized(drawn.tolist(), vocabulary), show_progress=False)
        del drawn
        with Index.open(path) as index, index.snapshot() as snapshot:
            corpus = Corpus(snapshot)

            def ours(turn: int, corpus: Corpus = corpus) -> np.ndarray:
                return corpus.lexical(cut[turn]).best(TOP)[1]

            def theirs(turn: int, other: bm25s.BM25 = other) -> np.ndarray:
                found = other.retrieve([cut[turn]], k=TOP, show_progress=False)
                return np.asarray(found.scores[0])

            for turn in range(20):  # the same scores: without k1 + 1 there, in float32, filled up with zeros
                found = ours(turn)
                assert np.allclose(found, theirs(turn)[: len(found)] * 2.2, rtol=1e-4), asked[turn]
            mine, its = medians(ours, theirs, times=len(asked))
        show(f"BM25, top {TOP} of {chunks:,} chunks of {BM25_WORDS} words", mine, its, "bm25s", "at most 1")
        shutil.rmtree(path)


def dense(folder: Path) -> None:
    path = folder / "dense"
    make_index(path, live_space(), 1_000_000, words=3)
    refreshed(path)
    with Index.open(path) as index, index.snapshot() as snapshot:
        corpus = Corpus(snapshot)
        (pack,) = corpus.packs
        asked = unit_vectors(np.random.default_rng(1), 40, 384)
        direct = faiss.IndexScalarQuantizer(384, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        for start in range(0, len(pack), 50_000):
            direct.add(pack.codes[start : start + 50_000].astype(np.float32))
        vectors = corpus.vectors
        for one in asked[:5]:
            assert np.allclose(vectors.nearest(one, TOP)[1], direct.search(one[None], TOP)[0][0], atol=1e-4)
        mine, its = medians(
            lambda turn: vectors.nearest(asked[turn], TOP),
            lambda turn: direct.search(asked[turn : turn + 1], TOP),
            times=len(asked),
        )
        show(
            f"dense, top {TOP} of {len(pack):,} x 384", mine, its, "faiss IndexScalarQuantizer", "at most 1.3"
        )
        _rounding(corpus, asked)
    shutil.rmtree(path)


def _rounding(corpus: Corpus, asked: np.ndarray) -> None:
    """The worst that float16 does to a cosine, of the first 100,000 vectors with 40 queries."""
    table = corpus.snapshot.rows(corpus.snapshot.of_kind("chunks")[0], ["embedding"])
    stored = table["embedding"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    matrix = stored.reshape(-1, 384)[:100_000].astype(np.float64)
    rounded = matrix.astype(np.float16).astype(np.float64)
    worst = float(np.abs((rounded - matrix) @ asked.T.astype(np.float64)).max())
    print(f"float16: worst |difference of a cosine| {worst:.2e}; bound {2.0**-11:.2e}", flush=True)


def hybrid_and_opening(folder: Path) -> None:
    path = folder / "hybrid"
    make_index(path, live_space(), 100_000, WORDS)
    built = refreshed(path)
    vector = unit_vectors(np.random.default_rng(2), 1, 384)[0]

    def opened(mode: Mode) -> Cost:
        def work() -> None:
            with open_index(path) as searcher:
                searcher.search("w1 w5", mode=mode, vector=vector)

        work()
        return medians(lambda _turn: work(), times=5)[0]

    for mode in get_args(Mode):
        show(
            f"opening 100,000 chunks, first {mode} search included",
            opened(mode),
            built,
            "building the cache",
            "under .1",
        )
    asked = queries(60)
    with open_index(path) as searcher:
        mine, its = medians(
            lambda turn: searcher.search(asked[turn]),
            lambda turn: searcher.embed_queries([asked[turn]]),
            times=len(asked),
        )
    show("hybrid search over 100,000 chunks, embedding included", mine, its, "embedding alone", "at most 2")
    updates(path, vector, built)
    shutil.rmtree(path)


def updates(path: Path, vector: np.ndarray, built: Cost) -> None:
    """Each commit replaces four documents of 20,000; each is followed by a search of a session that stays open."""
    after, again = [], []
    with Index.open(path) as index, open_index(path) as searcher:
        searcher.search("w1 w5", vector=vector)
        for turn in range(100):
            add_commit(index, live_space(), turn * 4, 4, WORDS, revision=2)
            after.append(cost(lambda: searcher.search("w1 w5", vector=vector)))
            again.append(cost(lambda: searcher.search("w1 w5", vector=vector)))
        packs = len(list((path / "cache").glob("*.pack")))
    first = Cost(*(statistics.median(part) for part in zip(*after, strict=True)))
    most = Cost(*(max(part) for part in zip(*after, strict=True)))
    next_ = Cost(*(statistics.median(part) for part in zip(*again, strict=True)))
    show("first search after a commit of 20 chunks, median of 100", first, built, "building the cache", "-")
    show("the slowest of them", most, built, "building the cache", "-")
    show("first search after a commit of 20 chunks, median", first, next_, "the search after it", "-")
    print(f"packs after 100 commits: {packs}")
    refreshed(path)
    print(f"packs after the end of a run: {len(list((path / 'cache').glob('*.pack')))}", flush=True)


def segments(folder: Path) -> None:
    vector = unit_vectors(np.random.default_rng(3), 1, 384)[0]
    asked = queries(100)
    many, one = folder / "many", folder / "one"
    for path, commits in ((many, 1_000), (one, 1)):
        make_index(path, live_space(), 50_000, WORDS, commits)
    built, built_of_one = refreshed(many), refreshed(one)
    show("cache of 1,000 segments of 50 chunks", built, built_of_one, "of one segment", "-")
    with open_index(many) as of_many, open_index(one) as of_one:
        for mode in get_args(Mode):
            mine, its = medians(
                lambda turn, m=mode: of_many.search(asked[turn], mode=m, vector=vector),  # type: ignore[misc]
                lambda turn, m=mode: of_one.search(asked[turn], mode=m, vector=vector),  # type: ignore[misc]
                times=len(asked),
            )
            show(f"{mode} search over 1,000 segments of 50 chunks", mine, its, "one segment", "about 1")
    shutil.rmtree(many)
    shutil.rmtree(one)


def evaluation(folder: Path) -> None:
    path = folder / "evaluation"
    asked = queries(1_000, words=8)
    for chunks in (1_000, 10_000):
        make_index(path, live_space(), chunks, WORDS)
        refreshed(path)
        with open_index(path) as searcher:
            searcher.embed_queries(asked[:8])
            embedding = cost(lambda: searcher.embed_queries(asked))
            vectors = searcher.embed_queries(asked)
            searching = cost(lambda: _all_modes(searcher, asked, vectors))  # noqa: B023
        whole = Cost(embedding.cpu + searching.cpu, embedding.wall + searching.wall)
        show(f"1,000 questions, three modes, {chunks:,} chunks", whole, embedding, "embedding", "at most 1.5")
        shutil.rmtree(path)


def _all_modes(searcher: Searcher, asked: Sequence[str], vectors: np.ndarray) -> None:
    for question, vector in zip(asked, vectors, strict=True):
        for mode in get_args(Mode):
            searcher.search(question, mode=mode, vector=vector)


PARTS = {
    "bm25": bm25,
    "dense": dense,
    "hybrid": hybrid_and_opening,
    "segments": segments,
    "evaluation": evaluation,
}


def main() -> None:
    faiss.omp_set_num_threads(1)
    print(
        f"{CHUNKS_A_DOCUMENT} chunks a document, load as it was; each part says what it was measured against"
    )
    with tempfile.TemporaryDirectory(prefix="pincite-benchmark-") as folder:
        for name in sys.argv[1:] or PARTS:
            began = time.perf_counter()
            PARTS[name](Path(folder))
            print(f"({name}: {time.perf_counter() - began:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()
