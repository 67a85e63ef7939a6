"""What can be said of counts: intervals and exact tests. scipy computes, this file says which variant.

scipy.stats is imported where it computes: half a CPU second, which the start of `pincite serve` need not pay.

Two phrasings of one question are not independent. Wilson intervals and sign tests count them as if they were, so
with two phrasings a needle they are somewhat too narrow; the number of needles stands beside that of questions.
"""

import math
from collections.abc import Sequence

import numpy as np

from pincite.schemas.evaluation import Mean, Share

CONFIDENCE = 0.95
ALPHA = 0.05
LEAST_DISCORDANT = 6
"""With five discordant pairs the two-sided sign test can't fall under 2 * 0.5**5 = .0625, whatever they say."""

_RESAMPLES = 2_000
_SEED = 20_261_129


def share(count: int, of: int) -> Share:
    """`count` of `of` with its 95 % Wilson score interval without continuity correction (Wilson 1927)."""
    if of == 0:
        return Share(count, of, None, None, None)
    from scipy.stats import binomtest

    interval = binomtest(count, of).proportion_ci(CONFIDENCE, method="wilson")
    return Share(count, of, count / of, float(interval.low), float(interval.high))


def paired_difference(both: int, only_new: int, only_old: int, neither: int) -> Mean:
    """New minus old share of the same questions, with its 95 % interval by method 10 of Newcombe (1998).

    It combines the Wilson intervals of both shares by their correlation: the more they agree, the narrower.
    """
    of = both + only_new + only_old + neither
    new, old = share(both + only_new, of), share(both + only_old, of)
    if new.value is None or old.value is None:
        return Mean(0, None, None, None)
    assert new.low is not None and new.high is not None and old.low is not None and old.high is not None
    value, phi = new.value - old.value, _phi(both, only_new, only_old, neither)
    down_new, up_new = new.value - new.low, new.high - new.value
    down_old, up_old = old.value - old.low, old.high - old.value
    down = math.sqrt(max(0.0, down_new**2 - 2 * phi * down_new * up_old + up_old**2))
    up = math.sqrt(max(0.0, up_new**2 - 2 * phi * up_new * down_old + down_old**2))
    return Mean(of, value, value - down, value + up)


def _phi(a: int, b: int, c: int, d: int) -> float:
    """The correlation of a table of two by two, with the continuity correction of that method."""
    product = (a + b) * (c + d) * (a + c) * (b + d)
    if not product:
        return 0.0
    surplus = a * d - b * c
    corrected = max(surplus - (a + b + c + d) / 2, 0.0) if surplus > 0 else surplus
    return float(corrected / math.sqrt(product))


def clustered_mean(values: Sequence[float], clusters: Sequence[int]) -> Mean:
    """The mean of values with a 95 % percentile bootstrap interval (Efron and Tibshirani 1993, chapter 13).

    Whole clusters are drawn (2,000 times, the same every time), since the phrasings of one needle go together.
    A rank is no proportion, so Wilson's formula does not apply. The interval is None for a single cluster.
    """
    if not values:
        return Mean(0, None, None, None)
    names, place = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(place, weights=np.asarray(values, dtype=np.float64), minlength=len(names))
    counts = np.bincount(place, minlength=len(names)).astype(np.float64)
    value = float(np.asarray(values, dtype=np.float64).mean())
    if len(names) < 2:
        return Mean(len(values), value, None, None)
    from scipy.stats import bootstrap

    found = bootstrap(
        (sums, counts),
        _ratio,
        n_resamples=_RESAMPLES,
        paired=True,
        vectorized=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(_SEED),
    ).confidence_interval
    return Mean(len(values), value, float(found.low), float(found.high))


def _ratio(sums: np.ndarray, counts: np.ndarray, axis: int = -1) -> np.ndarray:
    ratio: np.ndarray = sums.sum(axis=axis) / counts.sum(axis=axis)
    return ratio


def sign_test(wins: int, losses: int) -> float | None:
    """p of the exact two-sided sign test on discordant pairs (Dixon and Mood 1946); None without any.

    On questions that are found or not it is McNemar's test in its exact form.
    """
    if wins + losses == 0:
        return None
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses, 0.5).pvalue)


def resolvable(wins: int, losses: int) -> bool:
    """Whether so many discordant pairs could have been significant at all."""
    return wins + losses >= LEAST_DISCORDANT


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction (Holm 1979) in the order given; None stays None and is no comparison.

    The i-th smallest of m is multiplied by m - i + 1; none is smaller than one before it, none over 1.
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    least = 0.0
    for done, (p, place) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - done)))
        corrected[place] = least
    return corrected
