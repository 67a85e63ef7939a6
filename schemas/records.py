"""Records that cross from one room to another.

Offsets are Unicode code points on a document's canonical text, half open `[start, end)`.
Page numbers are 1-based. A bbox is (x0, top, x1, bottom) in PDF points from the top left.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

BlockKind = Literal["heading", "paragraph", "table", "code", "list", "boilerplate"]
"""Boilerplate is of the site around a page, not of the page: in the text, and in no chunk."""
PlaceKind = Literal["page", "slide", "time", "cells", "entry"]
State = Literal["pending", "running", "indexed", "failed", "deleted"]


@dataclass(frozen=True, slots=True)
class Block:
    """One structural unit of the canonical text. Blocks are in text order and do not overlap."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0  # of a heading: 1 is the outermost
    title: str = ""  # of a heading: its words without markup
    repeat: str = ""  # of a table: the header row, repeated in the header of each chunk of it


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stretch of the canonical text stands in the source.

    `label` by kind: page "12", slide "3", time "132.4,158.9" (seconds), cells "Sheet1!A2:D2",
    entry a JSON pointer or the name of a part.
    """

    kind: PlaceKind
    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Page:
    number: int
    start: int
    end: int
    width: float  # points, as shown (after rotation)
    height: float
    ocr: bool = False
    ocr_confidence: float | None = None  # mean over characters, 0 to 100; None without OCR


@dataclass(frozen=True, slots=True)
class Word:
    """A word that OCR read. Words up to the next `line_start` stand on one line of the page."""

    start: int
    end: int
    confidence: int  # 0 to 100
    line_start: bool = False


@dataclass(frozen=True, slots=True)
class DocumentWarning:
    """Something that a reader must know: what was given up, repaired or doubted."""

    code: str  # a stable word: "low-confidence", "hidden-text", "repaired", ...
    message: str
    page: int | None = None


UNFIT = "embedding-fit"
"""Code of the warning on a document that an embedding model can't read: of a space, not of the extraction."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """All that was read from one document."""

    text: str  # the canonical text
    title: str  # of the document itself; "" when it names none
    media_type: str
    extractor: str = ""  # stamped by `tasks.extraction.extract`, as is its version
    extractor_version: str = ""
    blocks: tuple[Block, ...] = ()
    places: tuple[Place, ...] = ()
    pages: tuple[Page, ...] = ()
    words: tuple[Word, ...] = ()
    warnings: tuple[DocumentWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage. `content == canonical_text[start:end]`; `text` is what is embedded, never quoted."""

    ordinal: int
    text: str
    content: str
    header: str  # "Title > Section", "" when the strategy has none
    section: str
    start: int
    end: int
    tokens: int  # word-pieces of `text` with the encoder's special tokens
    over_window: bool = False


@dataclass(frozen=True, slots=True)
class Space:
    """What must agree before two vectors may be compared."""

    model: str
    fingerprint: str  # sha256 over weights, tokenizer and pooling
    dimension: int
    window: int  # word-pieces, special tokens included
    pipeline: str
    chunker: str
    tokenizer: str  # name and version of the BM25 tokenizer

    def __str__(self) -> str:
        return (
            f"{self.model} (weights {self.fingerprint[:12]}, {self.dimension} dimensions, "
            f"pipeline {self.pipeline}, chunker {self.chunker}, tokenizer {self.tokenizer})"
        )


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a document would be made with now: what differs from it is stale."""

    recipe: str  # digest of the settings of extraction
    space: Space | None = None  # that the settings ask for; None compares nothing
    extractors: Mapping[str, str] = field(default_factory=dict)  # name to its version now


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file as discovery saw it."""

    path: str  # relative to the source, "/" between the parts
    absolute: str
    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    sha256: str  # "" when it could not be read
    unreadable: str = ""  # why it could not be read
    etag: str = ""  # of an object in a bucket
    kind: str = "unavailable"  # of the failure where it could not be read, a word of `schemas.retrying`


@dataclass(frozen=True, slots=True)
class Collection:
    """A source under a name, with what of it is to be indexed. A source has one name, a name one source."""

    name: str
    source: str  # an absolute folder or a URL
    include: tuple[str, ...] = ()  # patterns of .gitignore; () admits every file
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """One document handed out under a lease."""

    document_id: str
    path: str
    absolute: str
    sha256: str
    source_version: int  # compare-and-set on publish: a stale job never wins
    revision: int  # that the result will have
    attempt: int
    source: str = ""  # the folder or URL below which `path` lies
    size_bytes: int = 0  # as discovery saw it


@dataclass(frozen=True, slots=True)
class Policy:
    """Which documents a run takes up besides new and changed ones."""

    recipe: str  # digest of the settings that a result depends on
    limits: str  # digest of the settings that only a failure depends on
    attempts: int  # of a transient failure while nothing changes
    retry: tuple[str, ...] | None = None  # ids or paths of failed documents to try again; () is all of them
    confirmed_deletions: int | None = None  # how many documents may be gone from a source that looks emptied
    now: float | None = (
        None  # seconds since the epoch: what is to wait longer than this waits; None waits for nothing
    )
    extractors: Mapping[str, str] = field(default_factory=dict)  # name to its version now: another is stale
    follow_links_out: bool = True  # whether links of a folder that lead out of it are read
    own: Mapping[str, str] = field(
        default_factory=dict
    )  # suffix to the version of the user's extractor for it

    def limits_of(self, path: str) -> str:
        """What a failure of this document depends on beside its file and the recipe."""
        return self.limits + self.own.get(PurePosixPath(path).suffix.lower(), "")


@dataclass(frozen=True, slots=True)
class Registered:
    """What discovery found, by what is to be done. Sorted by path, those to be handed out alone first."""

    pending: tuple[str, ...]  # document ids to hand out
    alone: int = 0  # so many of them, the first ones, one at a time: a run ended while they were worked on
    new: int = 0
    changed: int = 0
    stale: int = 0  # made with other settings
    retried: int = 0
    renamed: int = 0
    deleted: int = 0
    unchanged: int = 0
    failed: int = 0  # failed before and not to be tried again, or unreadable now


@dataclass(frozen=True, slots=True)
class Prepared:
    """One document after extract, chunk and lexical: all but the vectors."""

    extraction: Extraction
    chunks: tuple[Chunk, ...]
    terms: tuple[dict[str, int], ...]  # term frequencies, one dict a chunk
    language: str = ""  # ISO 639-1; "" when it can't be told
    encoder_fit: bool = True  # whether the embedding model can read it


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of one run: discovered = indexed + failed + unchanged + deleted."""

    discovered: int = 0
    indexed: int = 0
    failed: int = 0
    unchanged: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class CollectionOutcome:
    """What came of a run over one collection."""

    collection: Collection
    counts: Counts
    seconds: float
    idle: bool  # no document was read
    error: str = ""  # why the source was left as it was


@dataclass(frozen=True, slots=True)
class HitChunk:
    """The chunk that was found, and where it stands."""

    content: str
    start: int
    end: int
    locator: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage that a search returned: a chunk, or the window that it was grown to."""

    rank: int
    chunk_id: str
    document: str
    title: str
    section: str
    content: str
    start: int
    end: int
    locator: str
    score: float  # of the mode asked for: BM25 and cosine weighed, RRF, cosine similarity or BM25
    cosine_distance: float | None = None
    bm25: float | None = None
    dense_rank: int | None = None
    bm25_rank: int | None = None
    ocr_confidence: float | None = None
    stale: bool = False
    rerank_score: float | None = None  # of the cross-encoder, unbounded; None where it did not look
    rank_before: int | None = None  # 1-based, before the cross-encoder
    folded: tuple[str, ...] = ()  # locators of near-duplicates of the same document that this hit stands for
    source: str = ""  # the folder or address that the document is of
    stale_reason: str = ""  # why it is stale
    encoder_fit: bool = True  # False: the embedding model can't read the document, its words alone rank it
    copies: tuple[str, ...] = ()  # path and locator of each passage of another document with the same content
    chunk: HitChunk | None = None  # the chunk that `content` was grown from, or is


@dataclass(frozen=True, slots=True)
class Check:
    """One invariant that `verify` counted."""

    name: str
    ok: bool
    count: int  # of things looked at
    problems: tuple[str, ...] = field(default=())
