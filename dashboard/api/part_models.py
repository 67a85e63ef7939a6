"""The parts of a document as the HTTP API gives them."""

from pydantic import BaseModel, Field

from pincite.schemas.records import Page
from pincite.storage.queries.history import FileState, RevisionRow
from pincite.storage.queries.index_report import Attempt


class AttemptList(BaseModel):
    document: str
    attempts: list[Attempt]


class VersionList(BaseModel):
    document: str
    file: FileState | None
    revisions: list[RevisionRow]


class TextBody(BaseModel):
    """A stretch of the canonical text; offsets are code points, half open."""

    document: str
    version: int
    characters: int = Field(description="of the whole text")
    start: int
    text: str
    next: int | None = Field(description="`start` of the next stretch; null at the end")
    pages: list[Page]


class ChunkBody(BaseModel):
    """`content` is the document's own words, `text[start:end]`."""

    ordinal: int
    content: str
    header: str
    section: str
    start: int
    end: int
    tokens: int
    over_window: bool
    locator: str
    passage: str


class ChunkList(BaseModel):
    document: str
    version: int
    total: int
    chunks: list[ChunkBody]
    next: int | None = Field(description="`first` of the next page; null on the last")


class FoundOnPage(BaseModel):
    """Something on a page. Corners are (x, y) in points of the page as shown, from the upper left on clockwise."""

    kind: str
    text: str | None = None
    confidence: int | None = Field(default=None, description="of a word that OCR read, 0 to 100")
    corners: list[tuple[float, float]]


class PageBody(BaseModel):
    number: int
    width: float = Field(description="points, as shown")
    height: float
    image: str | None = Field(description="base64")
    image_type: str | None
    missing: str | None = Field(description="why there is no image")
    blocks: list[FoundOnPage] = []
    words: list[FoundOnPage] = []
    left_out: list[FoundOnPage] = []
