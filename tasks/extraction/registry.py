"""Which extractor reads a file: by suffix, and by content where the suffix is missing or lies.

path → limits → format (suffix, content) → extractor → checks → Extraction
"""

import importlib
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pincite.schemas.counting import counted
from pincite.schemas.errors import (
    Encrypted,
    InvariantBroken,
    LimitExceeded,
    OcrUnavailable,
    SourceChanged,
    SourceUnavailable,
    Unreadable,
    Unsupported,
)
from pincite.schemas.records import Block, DocumentWarning, Extraction, Page, Place, Word
from pincite.schemas.settings import Settings
from pincite.tasks.extraction import user_extractors
from pincite.tasks.extraction.base.interface import Extractor, Progress
from pincite.tasks.extraction.sniffing import HEAD_BYTES, Sniffed, looks_binary, reads_as_text, sniff

if TYPE_CHECKING:  # a worker loads only the parsers that it needs
    from pincite.tasks.extraction.pdf.page_record import Sketch


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table: what users call it, its extractor as "module:function", its suffixes."""

    name: str
    extractor: str
    suffixes: tuple[str, ...]
    textual: bool = False  # any text is a valid file of it: content can't prove the suffix wrong


# fmt: off
_PLAIN_SUFFIXES = (
    ".txt", ".text", ".rst", ".adoc", ".org", ".tex", ".log", ".diff", ".patch", ".bib", ".po",
    ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".properties", ".xml", ".xsd",
    ".sql", ".graphql", ".proto",
    ".py", ".pyi", ".r", ".jl", ".rb", ".pl", ".lua", ".sh", ".bash", ".zsh", ".ps1", ".bat",
    ".js", ".mjs", ".ts", ".tsx", ".jsx", ".css", ".scss", ".vue",
    ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".java", ".kt", ".scala", ".go", ".rs", ".swift", ".php", ".m",
    ".hs", ".ml", ".clj", ".ex", ".erl", ".f90", ".asm", ".tf", ".mk", ".cmake", ".gradle",
)
# fmt: on

FORMATS: dict[str, Format] = {
    "pdf": Format("PDF", "pdf.reader:extract_pdf", (".pdf",)),
    "image": Format(
        "image",
        "image:extract_image",
        (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif"),
    ),
    "docx": Format("Word", "office.docx:extract_docx", (".docx", ".docm", ".dotx")),
    "pptx": Format("PowerPoint", "office.pptx:extract_pptx", (".pptx", ".pptm", ".ppsx", ".potx")),
    "xlsx": Format("Excel", "office.spreadsheet:extract_xlsx", (".xlsx", ".xlsm", ".xltx")),
    "ods": Format("OpenDocument spreadsheet", "office.spreadsheet:extract_ods", (".ods",)),
    "epub": Format("EPUB", "web.epub:extract_epub", (".epub",)),
    "delimited": Format("delimited text", "text.delimited:extract_delimited", (".csv", ".tsv"), textual=True),
    "transcript": Format("transcript", "text.transcript:extract_transcript", (".vtt", ".srt"), textual=True),
    "email": Format("e-mail", "mail:extract_email", (".eml",), textual=True),
    "mbox": Format("mail folder", "mail:extract_mbox", (".mbox", ".mbx"), textual=True),
    "msg": Format("Outlook message", "mail:extract_msg", (".msg",)),
    "zip": Format("ZIP archive", "archive:extract_zip", (".zip",)),
    "json": Format("JSON", "text.json_records:extract_json", (".json", ".jsonl", ".ndjson"), textual=True),
    "html": Format("HTML", "web.html:extract_html", (".html", ".htm", ".xhtml"), textual=True),
    "markdown": Format("Markdown", "text.markdown:extract_markdown", (".md", ".markdown"), textual=True),
    "plain": Format(
        "plain text",
        "text.plain:extract_plain",
        _PLAIN_SUFFIXES,
        textual=True,
    ),
}

WITH_PAGES = ("pdf", "image")  # formats whose extractors take a sketch

_BY_SUFFIX = {suffix: key for key, format_ in FORMATS.items() for suffix in format_.suffixes}
_SUFFIX = re.compile(r"\.(?=.*[a-z])[a-z0-9_+-]{1,12}")
"""What counts as a suffix: "report.2024" and "Dr. Okonkwo" have none."""


def extract(path: Path, settings: Settings, progress: Progress, sketch: "Sketch | None" = None) -> Extraction:
    """What the extractor of this file's format reads from it, checked.

    `sketch` takes what the product's own extractors of formats with pages see of them.

    Raises `Unsupported` for a format that no extractor reads, `Unreadable` for an empty file or one without
    a letter or digit in it, `LimitExceeded`, `SourceChanged` for a file that is gone, `InvariantBroken` when
    the extractor's offsets contradict its text, and what the extractor raises.
    """
    _check_source(path, settings.limits.source_bytes)
    address = settings.extractors.get(path.suffix.lower())
    key, warnings = ("", ()) if address else _choose(path)
    extractor = _of_own(address) if address else _load(FORMATS[key])
    if sketch is not None and key in WITH_PAGES:
        extractor = partial(cast(Callable[..., Extraction], extractor), sketch=sketch)
    extraction = extractor(path, settings, progress)
    check_extraction(extraction)
    return replace(extraction, warnings=(*warnings, *extraction.warnings)) if warnings else extraction


def current_version(extractor: str) -> str | None:
    """What an extractor of the product, a key of `FORMATS`, stamps now; None for one that can't run here."""
    module, _ = FORMATS[extractor].extractor.split(":")
    loaded = importlib.import_module(f"pincite.tasks.extraction.{module}")
    try:
        version: str = loaded.current_version() if extractor == "image" else loaded.EXTRACTOR_VERSION
    except OcrUnavailable:
        return None
    return version


def check_extraction(extraction: Extraction) -> None:
    """Raises when an extraction is not fit to be chunked: no text, or offsets that contradict the text."""
    text = extraction.text
    if not any(character.isalnum() for character in text):
        raise Unreadable("no text: nothing in this document has a letter or a digit" + _because(extraction))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvariantBroken(
            f"{extraction.extractor} returned a lone surrogate at character {error.start}: not text"
        ) from error
    for name, spans, apart in (
        ("block", extraction.blocks, True),
        ("page", extraction.pages, True),
        ("word", extraction.words, True),
        ("place", extraction.places, False),
    ):
        _check_spans(extraction.extractor, name, spans, len(text), apart)


def _check_spans(
    extractor: str, name: str, spans: Sequence[Block | Page | Word | Place], length: int, apart: bool
) -> None:
    """Spans lie inside the text and in its order; `apart`: without overlap."""
    floor = 0
    for number, span in enumerate(spans):
        if not floor <= span.start <= span.end <= length:
            raise InvariantBroken(
                f"{extractor} returned {name} {number} at [{span.start}, {span.end}), which must lie in "
                f"[{floor}, {length}]: outside the text or out of order"
            )
        floor = span.end if apart else span.start


def _because(extraction: Extraction) -> str:
    """The warnings of an extraction without text are the reasons for it."""
    reasons = "; ".join(warning.message for warning in extraction.warnings[:3])
    return f" ({reasons})" if reasons else ""


def _check_source(path: Path, limit_bytes: int) -> None:
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise SourceChanged("the file is gone; the next run counts it as deleted") from error
    except OSError as error:
        raise SourceUnavailable(f"the file can't be opened: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        # Opening a FIFO would wait for a writer that never comes.
        raise Unsupported("not a regular file (a folder, device, socket or pipe)")
    if status.st_size == 0:
        raise Unreadable("empty file: 0 bytes")
    if status.st_size > limit_bytes:
        raise LimitExceeded(
            f"the file has {counted(status.st_size, 'byte')}, over the limit of {limit_bytes:,} (limits.source_bytes)"
        )


def _choose(path: Path) -> tuple[str, tuple[DocumentWarning, ...]]:
    """(key of the format table, warnings). The suffix decides unless the content proves it wrong."""
    suffix = path.suffix.lower() if _SUFFIX.fullmatch(path.suffix.lower()) else ""
    by_suffix = _BY_SUFFIX.get(suffix, "")
    sniffed = _sniff(path)
    if sniffed.key == "encrypted":
        raise Encrypted("an Office file behind a password; save it without one")
    textual = bool(by_suffix) and FORMATS[by_suffix].textual
    if textual and sniffed.binary and sniffed.key and reads_as_text(path):
        return by_suffix, ()
    if sniffed.key and (sniffed.binary or not textual):
        return sniffed.key, _mismatch(suffix, by_suffix, sniffed)
    if by_suffix and (textual or not sniffed.seen):
        return by_suffix, ()
    if not suffix and not sniffed.seen and not _binary(path):
        return "plain", ()
    raise Unsupported(_unsupported(path, suffix, sniffed))


def _sniff(path: Path) -> Sniffed:
    try:
        return sniff(path)
    except FileNotFoundError as error:
        raise SourceChanged("the file is gone; the next run counts it as deleted") from error
    except OSError as error:
        raise SourceUnavailable(f"the file can't be read: {error.strerror}") from error


def _mismatch(suffix: str, by_suffix: str, sniffed: Sniffed) -> tuple[DocumentWarning, ...]:
    if not suffix or by_suffix == sniffed.key:
        return ()
    return (DocumentWarning("format-mismatch", f"named {suffix} but holds {sniffed.seen}; read as that"),)


def _binary(path: Path) -> bool:
    with path.open("rb") as file:
        return looks_binary(file.read(HEAD_BYTES))


def _unsupported(path: Path, suffix: str, sniffed: Sniffed) -> str:
    seen = sniffed.seen
    if not seen:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        seen = f"binary data that begins with {head[:8].hex(' ')}" if looks_binary(head) else "text"
    named = f"{suffix} file" if suffix else "file without a suffix"
    remedy = "; if it is plain text, name it .txt" if seen == "text" else ""
    return f"unsupported format: a {named} that holds {seen}{remedy}. Formats that are read: {_readable()}"


def _readable() -> str:
    """All formats with their suffixes; of plain text, the first few."""
    return ", ".join(
        f"{format_.name} ({' '.join(format_.suffixes[:8])}{' …' if len(format_.suffixes) > 8 else ''})"
        for format_ in FORMATS.values()
    )


def _load(format_: Format) -> Extractor:
    """Imported now: a worker loads only the parsers that it needs."""
    module, function = format_.extractor.split(":")
    return cast(Extractor, getattr(importlib.import_module(f"pincite.tasks.extraction.{module}"), function))


def _of_own(address: str) -> Extractor:
    """Stamps the address and the version of its file, so that no name of the user's is taken for one of ours."""
    extractor, version = user_extractors.load(address)

    def extract_and_stamp(path: Path, settings: Settings, progress: Progress) -> Extraction:
        read: object = extractor(path, settings, progress)
        if not isinstance(read, Extraction):
            raise InvariantBroken(
                f"the extractor {address} returned a {type(read).__name__}, "
                "and not a pincite.schemas.records.Extraction"
            )
        return replace(read, extractor=address, extractor_version=version)

    return extract_and_stamp
