"""Ask: question → search → refusal, or citations checked against the stored text → prompt.

No model is called here.
"""

from dataclasses import dataclass
from typing import Literal

from pincite.retrieval.answers.citations import Citation, cite, prompt_of
from pincite.retrieval.answers.resolve import Unresolved
from pincite.retrieval.filters import NO_FILTERS, Filters
from pincite.retrieval.ranking import Mode
from pincite.retrieval.searcher import Results, Searcher
from pincite.retrieval.threshold import MOST_PASSAGES, Threshold, no_answer
from pincite.schemas.display import one_line
from pincite.schemas.tables import document_of
from pincite.storage.documents.texts import StoredText

Refusal = Literal["", "absent", "nothing", "near"]
"""Why there is no answer: a code of the question stands nowhere, nothing is like the question, or what is near it
does not answer it."""


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """What a question found. A refusal has no prompt and no citations: there is nothing to ask a model."""

    question: str
    threshold: float
    doubt: str  # why the index's own threshold may not fit it; "" when it does, or when one was given
    refused: bool
    version: int
    searched: int  # chunks that passed the filters
    prompt: str | None
    citations: tuple[Citation, ...]
    unproved: tuple[Unresolved, ...]  # quotes that the stored text does not have
    texts: dict[int, StoredText]  # the document of each citation, by its index
    absent: tuple[str, ...] = ()  # codes of the question that stand nowhere in the index
    evidence: float | None = (
        None  # how likely it is that the passages answer, from 0 to 1; None in mode dense
    )
    refusal: Refusal = ""


def ask(
    searcher: Searcher,
    question: str,
    threshold: float | None = None,
    mode: Mode = "hybrid",
    k: int = MOST_PASSAGES,
    *,
    filters: Filters = NO_FILTERS,
    rerank: bool = False,
) -> AskOutcome:
    """At most four passages under the threshold, as a prompt and its citations.

    Without a threshold it is the one that was measured on the index, or the default one. Where `pincite calibrate`
    has also measured a least evidence score, passages that score less are refused too, unless one has a rare code of
    the question. Each quote is read again
    from the stored text of the version that was searched. Raises what `Searcher.search` raises.
    """
    used = searcher.threshold() if threshold is None else Threshold(threshold)
    results = searcher.search(
        question, mode=mode, k=k, threshold=used.distance, filters=filters, rerank=rerank
    )
    refusal = _refusal(results, used.evidence)
    hits = () if refusal else results.hits
    ids = [document_of(hit.chunk_id) for hit in hits]
    stored = searcher.texts(ids, results.version) if ids else {}
    citations, unproved, texts = [], [], {}
    for index, (hit, document_id) in enumerate(zip(hits, ids, strict=True), start=1):
        one = stored.get(document_id)
        citation, problem = cite(index, hit, one.text if one else None)
        citations.append(citation)
        if one is not None:
            texts[index] = one
        if problem:
            unproved.append(Unresolved("quote", citation.quote, f"source {index}, {hit.document}: {problem}"))
    prompt = None if refusal else prompt_of(question, citations)
    return AskOutcome(
        question=question,
        threshold=used.distance,
        doubt=used.warning,
        refused=bool(refusal),
        version=results.version,
        searched=results.searched,
        prompt=prompt,
        citations=tuple(citations),
        unproved=tuple(unproved),
        texts=texts,
        absent=results.absent,
        evidence=results.evidence,
        refusal=refusal,
    )


def _refusal(results: Results, least: float) -> Refusal:
    if results.refused:
        return "absent" if results.absent else "nothing"
    scored = results.evidence
    near = scored is not None and scored < least and not results.proved
    return "near" if near else ""


def why_refused(asked: AskOutcome) -> str:
    """The line that stands where an answer would."""
    if asked.refusal == "near":
        return f'NO ANSWER: passages are near, but none seems to answer "{one_line(asked.question)}"'
    return no_answer(one_line(asked.question), asked.threshold)
