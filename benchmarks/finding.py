"""What is found: each way to rank, on sets in the form of SQuAD, against the best single ranking.

python -m benchmarks.finding A.json B.json …

Right is a passage that holds the whole sentence of the answer. R@k of dense, BM25, fusion by rank, hybrid over chunks
and hybrid over windows; McNemar's exact test (1947) of hybrid against the better of dense and BM25 at the first place
and among four; how many sentences no window holds; CPU milliseconds a search, the vector given.

The public sets are not in the repository: XQuAD is at github.com/google-deepmind/xquad.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

import pincite
from pincite.evaluation.evaluate import evaluate
from pincite.evaluation.importers import read_squad, write_imported
from pincite.evaluation.questions import read_questions
from pincite.retrieval.ranking import Mode
from pincite.retrieval.searcher import open_index
from pincite.schemas.evaluation import Question
from pincite.schemas.records import Hit
from pincite.schemas.settings import Settings
from pincite.storage.snapshots.index import Index

CUTS = (1, 4, 10)
WAYS: dict[str, tuple[Mode, bool]] = {
    "dense": ("dense", False),
    "BM25": ("bm25", False),
    "rrf": ("rrf", False),
    "hybrid, chunks": ("hybrid", False),
    "hybrid, windows": ("hybrid", True),
}


def first_right(hits: Sequence[Hit], question: Question) -> int:
    """The rank of the first hit with a sentence that answers; beyond all cuts when none has."""
    needles = (question.needle, *question.needles)
    return next((hit.rank for hit in hits if any(one in hit.content for one in needles)), CUTS[-1] + 1)


def measured(index: Path, questions: Sequence[Question]) -> dict[str, tuple[np.ndarray, float]]:
    """(rank of each question, CPU s a search) by way."""
    with open_index(index) as searcher:
        vectors = searcher.embed_queries([one.question for one in questions])
    found = {}
    for name, (mode, windows) in WAYS.items():
        with open_index(index, Settings(windows=windows)) as searcher:
            searcher.search("warm", mode=mode, vector=vectors[0])
            begun = time.process_time()
            ranks = [
                first_right(searcher.search(one.question, mode=mode, vector=vector, k=CUTS[-1]).hits, one)
                for one, vector in zip(questions, vectors, strict=True)
            ]
            found[name] = np.array(ranks), (time.process_time() - begun) / len(questions)
    return found


def compared(hybrid: np.ndarray, other: np.ndarray, k: int) -> str:
    won, lost = int(((hybrid <= k) & (other > k)).sum()), int(((hybrid > k) & (other <= k)).sum())
    p = binomtest(won, won + lost).pvalue if won + lost else 1.0
    return f"+{won}/−{lost}, p = {p:.3g}"


def report(file: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        documents, path, index = Path(folder, "docs"), Path(folder, "q.jsonl"), Path(folder, "index")
        write_imported(read_squad(file), documents, path)
        with pincite.open(index) as opened:
            opened.update(documents)
        asked = read_questions(path)
        questions = [one for one in asked.questions if one.needle]
        found = measured(index, questions)
        with Index.open(index) as stored:
            (main, *_) = evaluate(stored, Settings(), asked).strategies
    print(
        f"\n{file.name}: {len(questions)} questions, {main.destroyed.count} of {main.destroyed.of} in no window\n"
    )
    print(f"| way | {' | '.join(f'R@{k}' for k in CUTS)} | CPU ms |\n|---|{'---|' * (len(CUTS) + 1)}")
    for name, (ranks, seconds) in found.items():
        shares = " | ".join(f"{(ranks <= k).mean():.3f}" for k in CUTS)
        print(f"| {name} | {shares} | {seconds * 1_000:.1f} |")
    for k in CUTS[:2]:
        better = max(("dense", "BM25"), key=lambda name: (found[name][0] <= k).sum())
        told = compared(found["hybrid, windows"][0], found[better][0], k)
        print(f"\nhybrid over windows against {better} at {k}: {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    for file in parser.parse_args().files:
        report(file)


if __name__ == "__main__":
    main()
