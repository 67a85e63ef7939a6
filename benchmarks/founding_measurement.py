"""The founding measurement again, on an open corpus: which ingredient of chunking buys what?

python -m benchmarks.founding_measurement [--fetch] [--vectors FILE]

Writes docs/founding-measurement.md; some fifteen minutes on two idle cores. `--vectors FILE` keeps what was embedded,
so that a run that was broken off goes on.

READMEs and samples → pincite index → A to F and the default from the same stored texts → recall and paired tests

Two sets of questions: `founding-measurement.jsonl` on the READMEs, `samples-and-docs.jsonl` on the samples and docs.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.founding_corpus import READMES, digest, make_corpus
from benchmarks.founding_report import JUDGES, REPORT, Key, Measured, report
from pincite.encoders.embedding import Embedder, load_embedder
from pincite.encoders.models import Model, resolve_model
from pincite.encoders.offline import stay_offline
from pincite.encoders.wordpieces import WordPieces
from pincite.evaluation.checking import check
from pincite.evaluation.metrics import CUTS, first_rank
from pincite.evaluation.passages import Passages
from pincite.evaluation.questions import read_questions
from pincite.evaluation.rebuild import rebuilt
from pincite.evaluation.refusal import sweep
from pincite.evaluation.scoring import Ranker, distances_of, scores_of
from pincite.retrieval.dense import Matrix
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.ranking import Mode
from pincite.schemas.errors import PinciteError
from pincite.schemas.evaluation import Question, QuestionSet, RefusalPoint, Strategy, StrategyScores
from pincite.schemas.settings import DEFAULT_CHUNKER, Settings
from pincite.storage.snapshots.index import Index
from pincite.tasks.chunking.chunk import STRATEGIES
from pincite.tasks.chunking.headers import SEPARATOR, embedded_text

MODES: tuple[Mode, ...] = ("rrf", "dense", "bm25")
"""As in the founding chapter, which fused by rank."""

ROOT = Path(__file__).resolve().parents[1]
THRESHOLDS = (0.475, 0.525, 0.575, 0.625, 0.675, 0.725, 2.0)
"""Cosine distances; the last refuses nothing."""
SETS = ROOT / "samples" / "questions"


class Remembering(Embedder):
    """An embedder that keeps the vectors of passages by their text, in a file if one is named."""

    def __init__(self, inner: Embedder, file: Path | None) -> None:
        self.model = inner.model
        self._inner = inner
        self._file = file
        self._known: dict[str, np.ndarray] = {}
        self.kept: set[str] = set()  # texts of which an earlier run had the vector, and this one asked
        if file is not None and file.exists():
            with np.load(file) as kept:
                if str(kept["fingerprint"]) != inner.model.fingerprint:
                    raise PinciteError(f"{file} holds vectors of another model: name another file")
                self._known = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))
        self._earlier = frozenset(self._known)

    def embed(self, texts: Sequence[str]) -> Matrix:
        names = [digest(text) for text in texts]
        self.kept |= self._earlier.intersection(names)
        new = {name: text for name, text in zip(names, texts, strict=True) if name not in self._known}
        self._known.update(zip(new, self._inner.embed(list(new.values())), strict=True))
        return np.array([self._known[name] for name in names], dtype=np.float32).reshape(
            -1, self.model.dimension
        )

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return self._inner.embed_queries(texts)

    def keep(self) -> None:
        if self._file is not None and self._known:
            names, vectors = list(self._known), np.array(list(self._known.values()))
            np.savez(self._file, fingerprint=self.model.fingerprint, texts=names, vectors=vectors)


def measure(index: Path, questions: QuestionSet, settings: Settings, embedder: Remembering) -> Measured:
    """Raises `PinciteError` when a question has a fault: the measurement is of all of them or of none."""
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        if faults := check(opened, questions):
            raise PinciteError("; ".join(f"{fault.id}: {fault.reason}" for fault in faults))
        asked = [one for one in questions.questions if one.answerable]
        model = embedder.model
        vectors = embedder.embed_queries([one.question for one in asked])
        scores: dict[Key, StrategyScores] = {}
        headers: dict[str, tuple[int | None, ...]] = {}
        refusal: tuple[RefusalPoint, ...] = ()
        for chunker in STRATEGIES:
            begun = time.perf_counter()
            with (
                rebuilt(snapshot, replace(settings, chunker=chunker), embedder) as path,
                Index.open(path) as other,
                other.snapshot() as made,
            ):
                corpus = Corpus(made)
                passages = Passages(made, corpus)
                scores.update(_scores(chunker, corpus, passages, asked, vectors, model))
                if chunker == DEFAULT_CHUNKER:
                    headers = dict(_header_forms(passages, asked, vectors, embedder))
                    refusal = _refusal(corpus, passages, questions.questions, embedder)
            embedder.keep()
            print(f"{questions.name} {chunker}: {time.perf_counter() - begun:.0f} s", flush=True)
        texts = [
            row for segment in snapshot.of_kind("texts") for row in snapshot.rows(segment)["text"].to_pylist()
        ]
    characters, sections = sum(map(len, texts)), sum(f"\n{text}".count("\n## ") for text in texts)
    return Measured(questions, len(texts), characters, sections, scores, headers, refusal)


def _scores(
    chunker: str,
    corpus: Corpus,
    passages: Passages,
    asked: Sequence[Question],
    vectors: Matrix,
    model: Model,
) -> Iterator[tuple[Key, StrategyScores]]:
    ranker = Ranker(corpus, None)
    lists = [ranker.rank(one.question, vector, MODES) for one, vector in zip(asked, vectors, strict=True)]
    cost = passages.cost(WordPieces(model))
    for judge in JUDGES:
        grounds, unjudged = passages.grounds(asked, judge)
        for mode in MODES:
            ranks = [
                first_rank(one[mode].rows, ground.evidence)
                for one, ground in zip(lists, grounds, strict=True)
            ]
            strategy = Strategy(chunker, chunker, model.name, mode)
            yield (chunker, mode, judge), scores_of(strategy, grounds, unjudged, ranks, cost)


def _header_forms(
    passages: Passages, asked: Sequence[Question], vectors: Matrix, embedder: Embedder
) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    """The default's own chunks under other headers, ranked by cosine alone."""
    grounds, _ = passages.grounds(asked, "content")
    rows = np.array(sorted(passages.chunks))
    chunks = [passages.chunks[int(row)] for row in rows]
    for form, change in _FORMS.items():
        texts = [embedded_text(change(_words(one.header)), one.content) for one in chunks]
        similar = np.asarray(vectors) @ np.asarray(embedder.embed(texts)).T
        orders = rows[np.argsort(-similar, axis=1, kind="stable")[:, : max(CUTS)]]
        yield (
            form,
            tuple(
                first_rank(order.tolist(), ground.evidence)
                for order, ground in zip(orders, grounds, strict=True)
            ),
        )


def _refusal(
    corpus: Corpus, passages: Passages, questions: Sequence[Question], embedder: Embedder
) -> tuple[RefusalPoint, ...]:
    """The sweep of the default in dense mode, as in the founding chapter."""
    grounds, _ = passages.grounds(questions, "content")
    evidence = {ground.question.id: ground.evidence for ground in grounds}
    vectors = embedder.embed_queries([one.question for one in questions])
    ranker = Ranker(corpus, None)
    found = [
        distances_of(
            one, ranker.rank(one.question, vector, ("dense",))["dense"], evidence.get(one.id, frozenset())
        )
        for one, vector in zip(questions, vectors, strict=True)
    ]
    return sweep(found, THRESHOLDS)


def _words(header: str) -> str:
    """The header without the frame that it has in the embedded text."""
    return header.strip().removeprefix("[").removesuffix("]")


def _ends(header: str) -> str:
    parts = header.split(SEPARATOR)
    return header if len(parts) < 3 else SEPARATOR.join((parts[0], parts[-1]))


_FORMS: dict[str, Callable[[str], str]] = {
    "whole path": str,
    "title and last section": _ends,
    "none": lambda _header: "",
}


def _indexed(index: Path, *folders: Path) -> Path:
    for folder in folders:
        command = [sys.executable, "-m", "pincite", "index", str(folder), "--index", str(index)]
        done = subprocess.run(command, cwd=ROOT, check=False)
        if done.returncode not in (0, 1):  # 1: three of the samples are broken on purpose
            raise PinciteError(f"{' '.join(command)} ended with {done.returncode}")
    return index


def main(fetch: bool, vectors: Path | None) -> None:
    stay_offline()
    settings = Settings()
    embedder = Remembering(load_embedder(resolve_model(settings.model)), vectors)
    with tempfile.TemporaryDirectory(prefix="pincite-founding-") as name:
        work = Path(name)
        make_corpus(work / "readmes", fetch)
        shutil.copytree(ROOT / "docs", work / "docs", ignore=shutil.ignore_patterns(REPORT, "screenshots"))
        asked = read_questions(SETS / "founding-measurement.jsonl")
        founding = measure(_indexed(work / "founding", work / "readmes"), asked, settings, embedder)
        samples = ROOT / "samples" / "documents"
        asked = read_questions(SETS / "samples-and-docs.jsonl")
        own = measure(_indexed(work / "own", samples, work / "docs"), asked, settings, embedder)
    (ROOT / "docs" / REPORT).write_text(report(founding, own, READMES, len(embedder.kept)), encoding="utf-8")
    print(f"written: docs/{REPORT}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fetch", action="store_true", help="let pip download READMEs of other releases")
    parser.add_argument("--vectors", type=Path, help="a .npz file that keeps vectors between runs")
    given = parser.parse_args()
    try:
        main(given.fetch, given.vectors)
    except PinciteError as error:
        sys.exit(f"founding_measurement: {error}")
