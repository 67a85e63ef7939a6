"""Prepare: extract, chunk and lexical of one document, in one child process."""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

from pincite.encoders.languages import language_of
from pincite.encoders.models import Model, ModelName, model_here
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.errors import SourceChanged, Unreadable
from pincite.schemas.records import Extraction, Job, Prepared
from pincite.schemas.settings import Settings
from pincite.storage.objects.digest import sha256_of
from pincite.tasks.chunking.by_model import chunks_for_model
from pincite.tasks.extraction.extract import extract
from pincite.tasks.sandbox.child import At
from pincite.tasks.steps.lexical import term_frequencies


@dataclass(frozen=True, slots=True)
class PrepareRequest:
    """What a child needs to prepare a document."""

    job: Job
    settings: Settings
    model: ModelName


def prepare(order: PrepareRequest, at: At) -> Prepared:
    """All of the document but its vectors. Raises a `DocumentError` when nothing of it could be quoted."""
    job, settings = order.job, order.settings
    at("extract", None)
    path = Path(job.absolute)
    extraction = extract(path, settings, lambda page: at("extract", page))
    _require_unchanged(path, job.sha256)
    at("chunk", None)
    wordpieces = wordpieces_of(model_here(order.model))
    title = document_title(extraction, job.path)
    made = chunks_for_model(extraction, title, settings.chunker, wordpieces)
    chunks, unfit = made.chunks, made.unfit
    if not chunks:
        raise Unreadable("no text: nothing in it that could be quoted")
    at("lexical", None)
    return Prepared(
        replace(extraction, warnings=(*extraction.warnings, *unfit)),
        chunks,
        term_frequencies(chunks),
        language=language_of(_prose(extraction)),
        encoder_fit=not unfit,
    )


def _prose(extraction: Extraction) -> list[str]:
    """What of the text is not code, whose words say nothing of the language."""
    blocks = [block for block in extraction.blocks if block.kind != "code"]
    if not extraction.blocks:
        return [extraction.text]
    return [extraction.text[block.start : block.end] for block in blocks]


def warm_up(name: ModelName, _at: At) -> None:
    """Loads what every document needs, so that no document pays for it."""
    wordpieces_of(model_here(name)).count("")
    language_of(["The model of languages is loaded with the first text."])


def document_title(extraction: Extraction, path: str) -> str:
    """The document's own title, or its file's name without the suffix."""
    return extraction.title or PurePosixPath(path).stem


@lru_cache(maxsize=2)
def wordpieces_of(model: Model) -> WordPieces:
    """The tokenizer of a model, kept between documents."""
    return WordPieces(model)


def _require_unchanged(path: Path, sha256: str) -> None:
    """The bytes that were read are those that discovery hashed, or the result would bear the wrong stamp."""
    try:
        digest = sha256_of(path)
    except OSError as error:
        raise SourceChanged(f"the file vanished while it was read: {error.strerror}. Run again") from error
    if digest != sha256:
        raise SourceChanged("the file changed while it was read. Run again when it is at rest")
