"""The evidence score: its training, and what it does on sets that it was not trained on.

python -m benchmarks.evidence train A.json B.json    writes retrieval/evidence_weights.json
python -m benchmarks.evidence report C.json …        AUROC and wrong answers, beside the distance alone

Each file is a set in the form of SQuAD. It is trained on the articles with an even number, and reported on those with
an odd one, so that a file may be given to both. Each question is asked twice: of the whole index, and with every
passage left out that has its sentence (evidence removed).
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.stats import rankdata

import pincite
from pincite.encoders.terms import whole_words
from pincite.evaluation.importers import read_squad, write_imported
from pincite.evaluation.questions import read_questions
from pincite.retrieval.evidence_score import (
    LOOKED_AT,
    WEIGHTS,
    Measures,
    ScoredPassage,
    Weights,
    measures,
    score_of,
    shipped,
    word_weights,
)
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.searcher import open_index
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Question
from pincite.schemas.records import Hit
from pincite.storage.snapshots.index import Index

DEEP = 30  # passages, of which six are left when those with the answer are taken away
REFUSED = 0.1  # of the questions with an answer: where sets are compared
CUT = 0.02  # of the questions with an answer, in training: where `ask` says that nothing near answers
PENALTY = 1e-3


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, with its passages and without those that answer it."""

    even: bool  # whether its article has an even number
    whole: Measures
    removed: Measures
    distances: tuple[float, float]


def asked(file: Path) -> Iterator[Asked]:
    """The questions of one set, each asked twice of an index of its documents."""
    with tempfile.TemporaryDirectory() as folder:
        documents, questions, path = Path(folder, "docs"), Path(folder, "q.jsonl"), Path(folder, "index")
        write_imported(read_squad(file), documents, questions)
        with pincite.open(path) as index:
            index.update(documents)
        answerable = [one for one in read_questions(questions).questions if one.answerable]
        numbers = {name: place for place, name in enumerate(sorted({one.document for one in answerable}))}
        with open_index(path) as searcher, Index.open(path) as opened, opened.snapshot() as snapshot:
            corpus = Corpus(snapshot)
            vectors = searcher.embed_queries([one.question for one in answerable])
            for question, vector in zip(answerable, vectors, strict=True):
                hits = searcher.search(question.question, k=DEEP, vector=vector).hits
                left = [hit for hit in hits if not answers(hit, question)]
                pair = measured(corpus, question.question, hits), measured(corpus, question.question, left)
                if pair[0] and pair[1]:
                    distances = nearest(hits), nearest(left)
                    yield Asked(numbers[question.document] % 2 == 0, pair[0], pair[1], distances)


def answers(hit: Hit, question: Question) -> bool:
    return any(needle in hit.content for needle in (question.needle, *question.needles))


def measured(corpus: Corpus, query: str, hits: Sequence[Hit]) -> Measures | None:
    words = word_weights(query, corpus.postings_of(whole_words(query)), len(corpus))
    return measures(
        words, [ScoredPassage(hit.content, hit.score, cosine_of(hit)) for hit in hits[:LOOKED_AT]]
    )


def cosine_of(hit: Hit) -> float | None:
    return 1.0 - hit.cosine_distance if hit.encoder_fit and hit.cosine_distance is not None else None


def nearest(hits: Sequence[Hit]) -> float:
    return min((one.cosine_distance for one in hits if one.cosine_distance is not None), default=2.0)


def train(files: Sequence[Path]) -> Weights:
    """Logistic regression (Cox 1958) with a small L2 penalty, on the even articles of these sets."""
    found = [one for file in files for one in asked(file) if one.even]
    if not found:
        raise UsageError("no question of an article with an even number: give a set of several articles")
    rows = [values(one) for pair in found for one in (pair.whole, pair.removed)]
    table = np.array(rows, dtype=np.float64)
    truth = np.tile([1.0, 0.0], len(found))
    means, deviations = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    table = np.nan_to_num((table - means) / deviations, nan=0.0)

    def loss(parameters: np.ndarray) -> float:
        total = table @ parameters[:-1] + parameters[-1]
        wrong = np.logaddexp(0, np.where(truth > 0, -total, total)).mean()
        return float(wrong + PENALTY * parameters[:-1] @ parameters[:-1])

    best = minimize(loss, np.zeros(table.shape[1] + 1), method="BFGS").x
    weights = Weights(_short(means), _short(deviations), _short(best[:-1]), float(best[-1].round(6)), cut=0.0)
    scores = [score_of(one.whole, weights) for one in found]
    return replace(weights, cut=float(np.quantile(scores, CUT).round(4)))


def _short(numbers: np.ndarray) -> tuple[float, ...]:
    return tuple(numbers.round(6).tolist())


def values(found: Measures) -> list[float]:
    return [np.nan if one is None else one for one in astuple(found)]


def auroc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """The share of pairs in which the right one scores higher (Mann and Whitney 1947)."""
    ranks = rankdata([*right, *wrong])[: len(right)]
    return float((ranks.sum() - len(right) * (len(right) + 1) / 2) / (len(right) * len(wrong)))


def wrong_at(right: Sequence[float], wrong: Sequence[float], refused: float) -> float:
    """The share of questions without an answer that are answered where so many with one are refused."""
    return float((np.array(wrong) >= np.quantile(right, refused)).mean())


HEAD = (
    "set",
    "questions",
    "AUROC",
    "of the distance",
    "wrong answers",
    "of the distance",
    "refused",
    "answered",
)
"""Wrong answers where a tenth of those with an answer is refused; the last two columns at the cut that is shipped."""


def report(files: Sequence[Path]) -> None:
    print(f"| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|")
    for file in files:
        found = [one for one in asked(file) if not one.even]
        right, wrong = [score_of(one.whole) for one in found], [score_of(one.removed) for one in found]
        near, far = [-one.distances[0] for one in found], [-one.distances[1] for one in found]
        figures = [
            auroc(right, wrong),
            auroc(near, far),
            wrong_at(right, wrong, REFUSED),
            wrong_at(near, far, REFUSED),
            float((np.array(right) < shipped().cut).mean()),
            float((np.array(wrong) >= shipped().cut).mean()),
        ]
        print(f"| {file.name} | {len(found)} | {' | '.join(f'{one:.3f}' for one in figures)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["train", "report"])
    parser.add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    if arguments.what == "report":
        report(arguments.files)
        return
    weights = train(arguments.files)
    sets = {"trained_on": [one.name for one in arguments.files], "articles": "those with an even number"}
    WEIGHTS.write_text(json.dumps({**asdict(weights), **sets}, indent=1) + "\n", encoding="utf-8")
    print(WEIGHTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
