"""What the HTTP API takes and gives. Hits and citations are the records of the other rooms with their addresses."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pincite.dashboard.views.passages import DocumentPassage
from pincite.dashboard.views.rank_explanation import Why
from pincite.retrieval.answers.citations import Citation
from pincite.retrieval.answers.resolve import Unresolved
from pincite.retrieval.filters import Filters
from pincite.retrieval.threshold import MOST_PASSAGES
from pincite.schemas.records import Collection, Hit

MOST_HITS = 100
MOST_CHARACTERS = 2_000  # of a question
MOST_CONTEXT = 10_000
MOST_DOCUMENTS = 500  # of a page

Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Names = Annotated[list[Name], Field(max_length=100)]
Question = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
Distance = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FilterBody(_Body):
    """All that are given must hold; of the values of one filter, any."""

    documents: Names = Field(default=[], description="paths, or globs of them")
    folders: Names = Field(default=[], description="folders of the source, with all that is below")
    types: Names = Field(default=[], description='suffixes ("pdf") or media types ("text/*")')
    languages: Names = Field(default=[], description='ISO 639-1 codes of documents, or "unknown"')
    collections: Names = Field(default=[], description="names of collections")
    modified_since: datetime | None = None
    modified_before: datetime | None = None
    min_ocr_confidence: float | None = Field(default=None, ge=0, le=100, allow_inf_nan=False)

    def filters(self) -> Filters:
        return Filters(
            documents=tuple(self.documents),
            folders=tuple(self.folders),
            types=tuple(self.types),
            languages=tuple(self.languages),
            collections=tuple(self.collections),
            modified_since=self.modified_since,
            modified_before=self.modified_before,
            min_ocr_confidence=self.min_ocr_confidence,
        )


class SearchBody(_Body):
    query: Question
    mode: Literal["hybrid", "dense", "bm25", "rrf"] = "hybrid"
    k: int = Field(default=10, ge=1, le=MOST_HITS)
    threshold: Distance | None = Field(
        default=None, description="only passages under this cosine distance, at most four"
    )
    rerank: bool = False
    explain: bool = Field(default=False, description="whether each hit says why it has its rank")
    filters: FilterBody = FilterBody()


class AskBody(_Body):
    question: Question
    mode: Literal["hybrid", "dense"] = "hybrid"
    k: int = Field(default=MOST_PASSAGES, ge=1, le=MOST_PASSAGES)
    threshold: Distance | None = Field(default=None, description="else the one measured on the index")
    rerank: bool = False
    filters: FilterBody = FilterBody()


@dataclass(frozen=True, slots=True)
class ServedHit(Hit):
    """A hit with its document's id and the address at which its passage is opened."""

    document_id: str = ""
    passage: str = ""
    why: Why | None = None


class SearchResult(BaseModel):
    query: str
    hits: list[ServedHit]
    refused: bool = Field(description="a threshold was given and nothing lay under it")
    message: str | None = Field(description="NO ANSWER, or that nothing passed the filters")
    version: int = Field(description="of the index")
    searched: int = Field(description="passages that passed the filters")
    evidence: float | None = Field(description="how likely it is that the passages answer, from 0 to 1")
    widened: dict[str, list[str]] = Field(
        description="words that few passages or none have, and what was searched beside them"
    )
    offered: dict[str, list[str]] = Field(
        description="words that stand nowhere, and what may have been meant; not searched"
    )
    absent: list[str] = Field(description="codes of the query that stand nowhere in the index")


@dataclass(frozen=True, slots=True)
class ServedCitation(Citation):
    """A citation with its document's id and the address at which it is opened."""

    document_id: str = ""
    passage: str = ""


class AskResult(BaseModel):
    question: str
    refused: bool
    message: str | None = Field(description="the NO ANSWER line of a refusal")
    refusal: Literal["absent", "nothing", "near"] | None = Field(
        description="why: a code of the question stands nowhere, nothing is like it, or what is near does not answer"
    )
    evidence: float | None = Field(description="how likely it is that the passages answer, from 0 to 1")
    absent: list[str] = Field(description="codes of the question that stand nowhere in the index")
    answer: str | None = Field(description="of the model; null without an endpoint")
    prompt: str | None
    citations: list[ServedCitation]
    cited: list[int] = Field(description="numbers that the answer uses, in their order there")
    unresolved: list[Unresolved]
    threshold: float
    threshold_doubt: str | None
    version: int
    searched: int


class DocumentBody(BaseModel):
    """A document as `pincite documents --json` prints it, with what can be done about it."""

    document: str
    document_id: str
    collection: str
    source: str
    state: str
    stage: str | None
    kind: str | None
    reason: str | None
    page: int | None
    attempts: int
    transient: bool
    not_before: float | None
    stale: str | None
    title: str | None
    chunks: int
    pages: int
    characters: int
    tables: int
    ocr_pages: int
    ocr_confidence: float | None
    language: str | None
    encoder_fit: bool | None
    stamps: dict[str, str | int] | None
    warnings: list[dict[str, Any]]
    remedy: str | None = Field(description="of a failure")
    waits: bool = Field(description="an order that is not over names it")


class DocumentPage(BaseModel):
    documents: list[DocumentBody]
    total: int = Field(description="of the state asked for")
    next: str | None = Field(description="`after` of the next page; null on the last")
    version: int


@dataclass(frozen=True, slots=True)
class PassageBody(DocumentPassage):
    """A stretch of a document's canonical text; offsets are code points, half open.

    `left` counts the characters behind `after`; `stale` says why this is not the text of the document now.
    """


class StatusBody(BaseModel):
    """The index as `pincite status --json` prints it."""

    documents: dict[str, int]
    chunks: int
    over_window: int
    space: dict[str, str | int]
    version: int
    stale: dict[str, int]
    sources: list[str]
    collections: list[Collection]
    last_run: dict[str, Any] | None


class Health(BaseModel):
    ok: Literal[True] = True


class ThresholdBody(BaseModel):
    """The cosine distance from which on `/ask` says no, unless a request brings its own."""

    distance: float
    doubt: str | None = Field(description="why it may not fit this index")
    questions: str | None = Field(
        description="the question set that it was measured on; null when it was not"
    )
