"""Ask: question → search → refusal, or citations checked against the stored text → prompt.

No model is called here.
"""

from dataclasses import dataclass

from retrieval.answers import Unresolved
from retrieval.citations import Citation, cite, prompt_of
from retrieval.ranking import Mode
from retrieval.refusal import DEFAULT_THRESHOLD, MOST_PASSAGES
from retrieval.search import Searcher
from schemas.tables import document_of
from storage.texts import StoredText


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question found. A refusal has no prompt and no citations: there is nothing to ask a model."""

    question: str
    threshold: float
    refused: bool
    version: int
    prompt: str | None
    citations: tuple[Citation, ...]
    unproved: tuple[Unresolved, ...]  # quotes that the stored text does not have
    texts: dict[int, StoredText]  # the document of each citation, by its index


def ask(
    searcher: Searcher,
    question: str,
    threshold: float = DEFAULT_THRESHOLD,
    mode: Mode = "hybrid",
    k: int = MOST_PASSAGES,
) -> Asked:
    """At most four passages under the threshold, as a prompt and its citations.

    Each quote is read again from the stored text of the version that was searched. Raises what
    `Searcher.search` raises.
    """
    results = searcher.search(question, mode=mode, k=k, threshold=threshold)
    ids = [document_of(hit.chunk_id) for hit in results.hits]
    stored = searcher.texts(ids, results.version) if ids else {}
    citations, unproved, texts = [], [], {}
    for index, (hit, document_id) in enumerate(zip(results.hits, ids, strict=True), start=1):
        one = stored.get(document_id)
        citation, problem = cite(index, hit, one.text if one else None)
        citations.append(citation)
        if one is not None:
            texts[index] = one
        if problem:
            unproved.append(Unresolved("quote", citation.quote, f"source {index}, {hit.document}: {problem}"))
    prompt = None if results.refused else prompt_of(question, citations)
    return Asked(
        question,
        threshold,
        results.refused,
        results.version,
        prompt,
        tuple(citations),
        tuple(unproved),
        texts,
    )
