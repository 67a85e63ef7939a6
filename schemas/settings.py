"""Settings as the rooms see them. Read from file and environment in `pincite.flows.settings`."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_CHUNKER = "structural"
DEFAULT_RERANKER = "cross-encoder/ms-marco-MiniLM-L-6-v2"
PIPELINE_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one document may cost before it is ended as failed."""

    deadline_s: float = 300.0
    memory_bytes: int = 2 << 30  # of each process that works on the document
    source_bytes: int = 512 << 20
    pages: int = 5_000
    pixels: int = 40_000_000  # of one rendered page or one image
    inflated_bytes: int = 1 << 30  # of all that a compressed container holds


@dataclass(frozen=True, slots=True)
class Ocr:
    languages: tuple[str, ...] = ("eng",)
    dpi: int = 200
    low_confidence: float = 60.0  # 0 to 100; below it a page is tried again and a passage is flagged
    pictures: bool = False  # also read what is written in pictures on pages with text of their own


@dataclass(frozen=True, slots=True)
class Answer:
    """An endpoint that speaks the chat completions of OpenAI. Without `base_url` no model is called."""

    base_url: str = ""  # "http://127.0.0.1:8080/v1"
    model: str = ""
    timeout_s: float = 60.0  # to connect, and between two pieces of the answer
    deadline_s: float = 300.0  # of the whole answer


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """A source that `pincite index` without an argument brings up to date."""

    source: str  # a folder or a URL
    include: tuple[str, ...] = ()  # patterns of .gitignore; () admits every file
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Schedule:
    """When all collections are brought up to date. Without `cron` only when someone asks for it."""

    cron: str = ""  # minute hour day month weekday
    timezone: str = "UTC"  # of the IANA database, as "Europe/Kyiv"


@dataclass(frozen=True, slots=True)
class Notify:
    """Where failures are told. Without `url` nowhere."""

    url: str = ""
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Settings:
    model: str = ""  # a name that `encoders.models` knows, or a folder; "" is the one of the index
    chunker: str = ""  # structural, or a reference strategy A to F; "" is the one of the index
    reranker: str = DEFAULT_RERANKER  # a cross-encoder: a folder, or a name whose weights are on this machine
    limits: Limits = field(default_factory=Limits)
    ocr: Ocr = field(default_factory=Ocr)
    answer: Answer = field(default_factory=Answer)
    collections: Mapping[str, CollectionSettings] = field(default_factory=dict)
    schedule: Schedule = field(default_factory=Schedule)
    notify: Notify = field(default_factory=Notify)
    questions: str = (
        ""  # a question set; with one, each reindex that changed something is evaluated and gated
    )
    workers: int = 0  # extraction processes; 0 is one per core
    attempts: int = 3  # of a failed document whose file did not change
    include_hidden_text: bool = False
    windows: bool = True  # a hybrid search grows what it finds to whole sentences around it
    rank_boilerplate: bool = False  # also find what an HTML page shows around its own text
    read_attachments: bool = True  # of mail, into the text of the message
    follow_links_out: bool = False  # of a folder; else a link to a place outside it is listed as failed
    environment: tuple[
        str, ...
    ] = ()  # variables that the extractors of your own need; others do not reach them
    extractors: Mapping[str, str] = field(default_factory=dict)
    """Extractors of your own, before the product's: ".log" to "logs.py:read" (`extraction.user_extractors`)."""
    folder: str = ""  # where relative paths of `extractors` start: that of the settings file


def completed(settings: Settings, model: str = DEFAULT_MODEL, chunker: str = DEFAULT_CHUNKER) -> Settings:
    """The settings with these where they name no model or no chunker, as they do unless the user chose one.

    So an index that moved to another model goes on with it; what the user named is never set aside.
    """
    return replace(settings, model=settings.model or model, chunker=settings.chunker or chunker)


def recipe(settings: Settings) -> str:
    """Digest of what the result of a document depends on: another recipe makes it stale."""
    ocr = asdict(settings.ocr)
    pictures = ocr.pop("pictures")
    chosen = [PIPELINE_VERSION, ocr, settings.include_hidden_text, dict(settings.extractors)]
    # Only what differs from the default counts, so that a new setting makes no document stale.
    if pictures:
        chosen.append("pictures are read")
    if not settings.read_attachments:
        chosen.append("attachments are not read")
    if settings.rank_boilerplate:
        chosen.append("boilerplate is ranked")
    return _digest(chosen)


def limits_digest(settings: Settings) -> str:
    """Digest of what only a failure depends on: other limits make a failed document worth another attempt."""
    return _digest(asdict(settings.limits))


def _digest(values: object) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]
