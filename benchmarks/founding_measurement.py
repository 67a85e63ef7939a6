"""The founding measurement again, on an open corpus: which ingredient of chunking buys what?

python -m benchmarks.founding_measurement [--fetch]      writes docs/founding-measurement.md; some fifteen minutes

READMEs and samples → pincite index → A to F and the default from the same stored texts → recall and paired tests

Two sets of questions: `founding-measurement.jsonl` on the READMEs, `samples-and-docs.jsonl` on the samples and docs.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.founding_corpus import READMES, make_corpus
from benchmarks.founding_report import JUDGES, REPORT, Key, Measured, report
from encoders.embedding import load_embedder
from encoders.models import Model, resolve_model
from encoders.offline import stay_offline
from encoders.wordpieces import WordPieces
from evaluation.checking import check
from evaluation.metrics import CUTS, first_rank
from evaluation.passages import Passages
from evaluation.questions import read_questions
from evaluation.rebuild import rebuilt
from evaluation.scoring import MODES, Ranker, scores_of
from retrieval.corpus import Corpus
from retrieval.dense import Matrix
from schemas.errors import PinciteError
from schemas.evaluation import Question, QuestionSet, Scores, Strategy
from schemas.settings import DEFAULT_CHUNKER, Settings
from storage.index import Index
from tasks.chunking.chunk import STRATEGIES
from tasks.chunking.headers import SEPARATOR, embedded_text

ROOT = Path(__file__).resolve().parents[1]
SETS = ROOT / "samples" / "questions"


def measure(index: Path, questions: QuestionSet, settings: Settings) -> Measured:
    """Raises `PinciteError` when a question has a fault: the measurement is of all of them or of none."""
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        if faults := check(opened, questions):
            raise PinciteError("; ".join(f"{fault.id}: {fault.reason}" for fault in faults))
        asked = [one for one in questions.questions if one.answerable]
        model = resolve_model(settings.model)
        vectors = load_embedder(model).embed_queries([one.question for one in asked])
        scores: dict[Key, Scores] = {}
        headers: dict[str, tuple[int | None, ...]] = {}
        for chunker in STRATEGIES:
            begun = time.perf_counter()
            with (
                rebuilt(snapshot, replace(settings, chunker=chunker)) as path,
                Index.open(path) as other,
                other.snapshot() as made,
            ):
                corpus = Corpus(made)
                passages = Passages(made, corpus)
                scores.update(_scores(chunker, corpus, passages, asked, vectors, model))
                if chunker == DEFAULT_CHUNKER:
                    headers = dict(_header_forms(passages, asked, vectors, model))
            print(f"{questions.name} {chunker}: {time.perf_counter() - begun:.0f} s", flush=True)
        texts = [
            row for segment in snapshot.of_kind("texts") for row in snapshot.rows(segment)["text"].to_pylist()
        ]
    characters, sections = sum(map(len, texts)), sum(f"\n{text}".count("\n## ") for text in texts)
    return Measured(questions, len(texts), characters, sections, scores, headers)


def _scores(
    chunker: str,
    corpus: Corpus,
    passages: Passages,
    asked: Sequence[Question],
    vectors: Matrix,
    model: Model,
) -> Iterator[tuple[Key, Scores]]:
    ranker = Ranker(corpus)
    lists = [ranker.rank(one.question, vector) for one, vector in zip(asked, vectors, strict=True)]
    cost = passages.cost(WordPieces(model))
    for judge in JUDGES:
        grounds, unjudged = passages.grounds(asked, judge)
        for mode in MODES:
            rows = [one[mode].rows for one in lists]
            strategy = Strategy(chunker, chunker, model.name, mode)
            yield (chunker, mode, judge), scores_of(strategy, grounds, unjudged, rows, cost)


def _header_forms(
    passages: Passages, asked: Sequence[Question], vectors: Matrix, model: Model
) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    """The default's own chunks under other headers, ranked by cosine alone."""
    grounds, _ = passages.grounds(asked, "content")
    embedder = load_embedder(model)
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


def _words(header: str) -> str:
    """The header without the frame that it has in the embedded text."""
    return header.strip().removeprefix("[").removesuffix("]")


def _ends(header: str) -> str:
    parts = header.split(SEPARATOR)
    return header if len(parts) < 3 else SEPARATOR.join((parts[0], parts[-1]))


def _title(header: str) -> str:
    return header.split(SEPARATOR, maxsplit=1)[0]


_FORMS: dict[str, Callable[[str], str]] = {
    "whole path": str,
    "title and last section": _ends,
    "title": _title,
    "none": lambda _header: "",
}


def _indexed(index: Path, *folders: Path) -> Path:
    for folder in folders:
        command = [sys.executable, "-m", "pincite", "index", str(folder), "--index", str(index)]
        done = subprocess.run(command, cwd=ROOT, check=False)
        if done.returncode not in (0, 1):  # 1: three of the samples are broken on purpose
            raise PinciteError(f"{' '.join(command)} ended with {done.returncode}")
    return index


def main() -> None:
    stay_offline()
    settings = Settings()
    with tempfile.TemporaryDirectory(prefix="pincite-founding-") as name:
        work = Path(name)
        make_corpus(work / "readmes", fetch="--fetch" in sys.argv)
        shutil.copytree(ROOT / "docs", work / "docs", ignore=shutil.ignore_patterns(REPORT))
        founding = measure(
            _indexed(work / "founding", work / "readmes"),
            read_questions(SETS / "founding-measurement.jsonl"),
            settings,
        )
        own = measure(
            _indexed(work / "own", ROOT / "samples" / "documents", work / "docs"),
            read_questions(SETS / "samples-and-docs.jsonl"),
            settings,
        )
    (ROOT / "docs" / REPORT).write_text(report(founding, own, READMES), encoding="utf-8")
    print(f"written: docs/{REPORT}")


if __name__ == "__main__":
    try:
        main()
    except PinciteError as error:
        sys.exit(f"founding_measurement: {error}")
