"""Why a hit has its rank: what each leg gave it, and the words that it shares with the question."""

from dataclasses import dataclass

from dashboard.marks import TermCount, marked
from retrieval.fusion import RRF_K
from retrieval.ranking import Mode
from schemas.records import Hit


@dataclass(frozen=True, slots=True)
class Why:
    """The shares are of the RRF score, 1 / (rrf_k + rank in the leg); None of a leg that did not find the passage."""

    rrf_k: int
    dense_share: float | None
    bm25_share: float | None
    terms: list[TermCount]  # of the question, as BM25 counts them in the passage


def why_of(query: str, mode: Mode, hit: Hit) -> Why:
    return Why(RRF_K, *shares_of(mode, hit), marked(query, hit.content)[1])


def shares_of(mode: Mode, hit: Hit) -> tuple[float | None, float | None]:
    """(of the dense leg, of BM25); both None where nothing was fused."""
    fused = mode == "hybrid"
    return (
        1 / (RRF_K + hit.dense_rank) if fused and hit.dense_rank else None,
        1 / (RRF_K + hit.bm25_rank) if fused and hit.bm25_rank else None,
    )
