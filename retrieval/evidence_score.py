"""How likely it is that the passages found answer the question: four measures, weighed by a logistic function.

A cosine distance tells a question off the topic from one on it. It does not tell a passage that answers from one that
only speaks of the same things. These measures look at the words: whether one passage, and one sentence, has those of
the question that are rare. Weights and their training set stand in `evidence_weights.json`, which
`python -m benchmarks.evidence train` writes.
"""

import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import astuple, dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from pincite.encoders.sentences import sentence_cuts
from pincite.encoders.terms import whole_words
from pincite.retrieval.bm25 import TermPostings, idf
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.ranking import Ranked
from pincite.retrieval.windows import Windows

LOOKED_AT = 6  # passages
LEAST_CHUNKS = 100
"""An index of fewer has too few to tell which words are rare, so no score is told."""
WEIGHTS = Path(__file__).with_name("evidence_weights.json")


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage in the order of the ranking. `cosine` is None where the model can't read its document."""

    text: str
    score: float
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Measures:
    """Of the first passages; all but `cosine` from 0 to 1.

    covered: of the weights (idf) of the question's words, the largest share that one passage has.
    sentence: the largest share that one sentence has.
    cosine: of the nearest passage; None where no document of them can be read by the model.
    ahead: how far the first stands before the mean of the others, in the score of the ranking.
    """

    covered: float
    sentence: float
    cosine: float | None
    ahead: float


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the measures less `means`, by `deviations`. `cut`: hardly any question with an answer scores lower."""

    means: tuple[float, ...]
    deviations: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    cut: float


def word_weights(query: str, postings: Mapping[str, TermPostings], chunks: int) -> dict[str, float]:
    """The idf of each word of a query in an index of so many chunks; a word that stands nowhere weighs most."""
    return {
        word: idf(len(postings[word].rows) if word in postings else 0, chunks)
        for word in dict.fromkeys(whole_words(query))
    }


def measures(words: Mapping[str, float], passages: Sequence[ScoredPassage]) -> Measures | None:
    """None where there is nothing to look at: no passage, or a query without words."""
    looked_at = passages[:LOOKED_AT]
    total = sum(words.values())
    if not looked_at or not total:
        return None
    covered, sentence = 0.0, 0.0
    for one in looked_at:
        having = [words.keys() & set(whole_words(part)) for part in _sentences(one.text)]
        sentence = max(sentence, *(_weight(words, some) for some in having))
        covered = max(covered, _weight(words, set().union(*having)))
    cosines = [one.cosine for one in looked_at if one.cosine is not None]
    others = [one.score for one in looked_at[1:]]
    ahead = looked_at[0].score - sum(others) / len(others) if others else looked_at[0].score
    return Measures(covered / total, sentence / total, max(cosines, default=None), max(0.0, min(1.0, ahead)))


def _sentences(text: str) -> list[str]:
    bounds = [0, *sentence_cuts(text, 0, len(text)), len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


def _weight(words: Mapping[str, float], some: Set[str]) -> float:
    return sum(words[word] for word in sorted(some))


def score_of(found: Measures, by: Weights | None = None) -> float:
    """0 to 1. A measure that is not known counts as its mean."""
    known = by or shipped()
    total = known.bias
    for value, mean, deviation, weight in zip(
        astuple(found), known.means, known.deviations, known.weights, strict=True
    ):
        if value is not None:
            total += weight * (value - mean) / deviation
    return 1.0 / (1.0 + math.exp(-total))


def score_of_ranked(
    corpus: Corpus, words: Mapping[str, float], found: Sequence[Ranked], windows: Windows
) -> float | None:
    """Of the first rows of a ranking by windows; None where there is nothing to look at."""
    passages = [
        ScoredPassage(windows.text_of(one.window), one.score, _cosine(corpus, one))
        for one in found[:LOOKED_AT]
        if one.window is not None
    ]
    measured = measures(words, passages)
    return None if measured is None else score_of(measured)


def _cosine(corpus: Corpus, one: Ranked) -> float | None:
    if one.cosine_distance is None or (corpus.unread is not None and corpus.unread[one.row]):
        return None
    return 1.0 - one.cosine_distance


@lru_cache(maxsize=1)
def shipped() -> Weights:
    read = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return Weights(
        tuple(read["means"]), tuple(read["deviations"]), tuple(read["weights"]), read["bias"], read["cut"]
    )
