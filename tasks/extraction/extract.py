"""Which extractor reads a file: by suffix, and by content where the suffix is missing or lies.

path → limits → format (suffix, content) → extractor → stamp → checks → Extraction
"""

import importlib
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pincite.schemas.counting import counted
from pincite.schemas.errors import (
    Encrypted,
    ExtractorUnavailable,
    InvariantBroken,
    LimitExceeded,
    SourceChanged,
    SourceUnavailable,
    Unreadable,
    Unsupported,
)
from pincite.schemas.records import Block, DocumentWarning, Extraction, Page, Place, Word
from pincite.schemas.settings import Settings
from pincite.tasks.extraction import user_extractors
from pincite.tasks.extraction.base.interface import Extractor, Progress
from pincite.tasks.extraction.registry import formats, key_of
from pincite.tasks.extraction.sniffing import HEAD_BYTES, Sniffed, looks_binary, reads_as_text, sniff
from pincite.tasks.extraction.stamps import version_of_format

if TYPE_CHECKING:  # a worker loads only the parsers that it needs
    from pincite.tasks.extraction.pdf.page_record import Sketch

_SUFFIX = re.compile(r"\.(?=.*[a-z])[a-z0-9_+-]{1,12}")
"""What counts as a suffix: "report.2024" and "Dr. Okonkwo" have none."""


def extract(path: Path, settings: Settings, progress: Progress, sketch: "Sketch | None" = None) -> Extraction:
    """What the extractor of this file's format reads from it, checked.

    `sketch` takes what the extractors of formats with pages see of them.

    Raises `Unsupported` for a format that no extractor reads, `Unreadable` for an empty file or one without
    a letter or digit in it, `LimitExceeded`, `SourceChanged` for a file that is gone, `InvariantBroken` when
    the extractor's offsets contradict its text, and what the extractor raises.
    """
    _check_source(path, settings.limits.source_bytes)
    address = settings.extractors.get(path.suffix.lower(), "")
    key, warnings = (address, ()) if address else _choose(path)
    if ":" in key:
        extractor, version = user_extractors.load(key, settings.folder)
    else:
        extractor, version = _of_row(key, sketch)
    read: object = extractor(path, settings, progress)
    if not isinstance(read, Extraction):
        raise InvariantBroken(
            f"the extractor {key} returned a {type(read).__name__}, and not a pincite.schemas.records.Extraction"
        )
    # Stamped here, so that no name of the user's is taken for one of ours.
    stamped = replace(read, extractor=key, extractor_version=version, warnings=(*warnings, *read.warnings))
    check_extraction(stamped)
    return stamped


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
    by_suffix = key_of(suffix)
    sniffed = _sniff(path)
    if sniffed.key == "encrypted":
        raise Encrypted("an Office file behind a password; save it without one")
    textual = bool(by_suffix) and formats()[by_suffix].textual
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
        seen = (
            "binary data of no known kind" if looks_binary(head) else "text"
        )  # the same words for all: a group
    named = f"{suffix} file" if suffix else "file without a suffix"
    remedy = "; if it is plain text, name it .txt" if seen == "text" else ""
    return f"unsupported format: a {named} that holds {seen}{remedy}. Formats that are read: {_readable()}"


def _readable() -> str:
    """All formats with their suffixes; of plain text, the first few."""
    return ", ".join(
        f"{format_.name} ({' '.join(format_.suffixes[:8])}{' …' if len(format_.suffixes) > 8 else ''})"
        for format_ in formats().values()
    )


def _of_row(key: str, sketch: "Sketch | None") -> tuple[Extractor, str]:
    """The extractor of a row, imported now, since a worker loads only the parsers that it needs; and its version."""
    row = formats().get(key)
    if row is None:
        raise ExtractorUnavailable(
            f"the extractor {key} of the settings is not installed. There are: {', '.join(formats())}"
        )
    module, function = row.extractor.split(":")
    try:
        extractor = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ExtractorUnavailable(f"the extractor {key} can't be loaded: {error}") from error
    if sketch is not None and row.pages:
        extractor = partial(cast(Callable[..., Extraction], extractor), sketch=sketch)
    return cast(Extractor, extractor), version_of_format(row)
