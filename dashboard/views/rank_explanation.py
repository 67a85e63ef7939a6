"""Why a hit has its rank: what each leg gave it, and what each word gave to its BM25 score."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pincite.retrieval.bm25 import TermShare
from pincite.retrieval.fusion import RRF_K
from pincite.retrieval.ranking import Mode
from pincite.schemas.counting import counted
from pincite.schemas.display import escaped
from pincite.schemas.records import Hit


@dataclass(frozen=True, slots=True)
class Why:
    """What the score is the sum of; None of a ranking that gave the passage nothing, or was not asked.

    Hybrid: the BM25 score by the most that the question's words can reach, and what the distance adds. `rrf`: 1 /
    (rrf_k + rank) of each ranking.
    """

    rrf_k: int
    dense_share: float | None
    bm25_share: float | None
    terms: tuple[TermShare, ...]  # of the question, of which its BM25 score is the sum; () in dense mode


def why_of(mode: Mode, hit: Hit, terms: tuple[TermShare, ...], most: float) -> Why:
    return Why(RRF_K, *shares_of(mode, hit, most), terms)


def shares_of(mode: Mode, hit: Hit, most: float) -> tuple[float | None, float | None]:
    """(of the distance, of BM25); both None where one ranking is all. `most`: what the question's words can reach."""
    if mode == "rrf":
        return (
            1 / (RRF_K + hit.dense_rank) if hit.dense_rank else None,
            1 / (RRF_K + hit.bm25_rank) if hit.bm25_rank else None,
        )
    if mode != "hybrid":
        return None, None
    words = (hit.bm25 or 0.0) / (most or 1.0)
    return hit.score - words, words or None


def sum_of(terms: Sequence[TermShare]) -> Markup:
    """A BM25 score as the sum of what its terms give, as HTML.

    Not by the template, where these short pieces, some 200 on a page, took more time than all the rest of it.
    """
    return Markup("+ ".join(map(_share, terms))) if terms else Markup()


def _share(one: TermShare) -> str:
    asked = f"asked {one.repeats} times, " if one.repeats > 1 else ""
    where = f"{asked}{one.tf} × here, in {counted(one.chunks, 'passage')}"
    term = one.term if one.term.isalnum() else escaped(one.term)
    return (
        f'<span class="share"><code>{term}</code> {one.share:.3f} <span class="soft">{where}</span></span> '
    )
