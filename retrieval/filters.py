"""Filters: which chunks a search looks at. They are applied before anything is scored."""

import math
import unicodedata
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from pincite.encoders.languages import LANGUAGES, UNKNOWN
from pincite.schemas.errors import UsageError
from pincite.storage.snapshots.snapshot import LiveDocument


@dataclass(frozen=True, slots=True)
class Filters:
    """All that are set must hold; of the values of one filter, any.

    documents: paths as indexed, or globs of them, in which `*` and `?` also match "/". A glob without "/" is
        held against the file's name, wherever it lies.
    folders: folders of the source, with all that is below.
    types: media types ("application/pdf", "text/*") or suffixes ("pdf", ".md").
    modified_since, modified_before: of the file, as the last run saw it; half open. A time without a zone is
        local. Versions do not keep it: at an older version, and of a stale document, it is that of the newer file.
    min_ocr_confidence: 0 to 100, of the passage. One that was not read by OCR passes.
    languages: ISO 639-1 codes of documents, or "unknown" for those whose language could not be told.
    collections: names of sources that were indexed.
    """

    documents: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    modified_since: datetime | None = None
    modified_before: datetime | None = None
    min_ocr_confidence: float | None = None
    languages: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()

    @property
    def dated(self) -> bool:
        return self.modified_since is not None or self.modified_before is not None


NO_FILTERS = Filters()


def check_filters(filters: Filters) -> None:
    """Raises `UsageError` for a filter that nothing could pass by its very form."""
    for field in ("documents", "folders", "types", "languages", "collections"):
        if isinstance(value := getattr(filters, field), str):  # else each of its letters is a value
            raise UsageError(f"the filter {field} is the text {value!r}: give a tuple, ({value!r},)")
    least = filters.min_ocr_confidence
    if least is not None and not 0.0 <= least <= 100.0:  # also true for NaN
        raise UsageError(f"the OCR confidence is {least:g}: it lies between 0 and 100")
    if "" in (*filters.documents, *filters.types):
        raise UsageError("an empty document or type matches nothing: leave the filter out")
    for name in filters.languages:
        if _language(name) not in {"", *LANGUAGES}:
            raise UsageError(
                f"{name!r} is not the code of a language that is told: give two letters (ISO 639-1) such as uk, "
                f"or {UNKNOWN!r}. There are {', '.join(sorted(LANGUAGES))}"
            )
    since, before = nanoseconds(filters.modified_since), nanoseconds(filters.modified_before)
    if since is not None and before is not None and since >= before:
        raise UsageError(
            f"no file can be modified since {filters.modified_since} and before {filters.modified_before}"
        )


def document_filter(
    filters: Filters, sources: Container[str] | None = None
) -> Callable[[LiveDocument], bool]:
    """Whether a document passes the filters on document, folder, type and language, and is of one of `sources`."""
    documents = [_composed(glob) for glob in filters.documents]
    folders = [_folder(name) for name in filters.folders]
    types = [name.casefold() for name in filters.types]
    languages = {_language(name) for name in filters.languages}

    def passes(document: LiveDocument) -> bool:
        path = _composed(document.path)
        return (
            (not documents or any(_matches(path, glob) for glob in documents))
            and (not folders or any(path.startswith(folder) for folder in folders))
            and (not types or any(_is_of_type(path, document.media_type, name) for name in types))
            and (not languages or document.language in languages)
            and (sources is None or document.source in sources)
        )

    return passes


_MOST_NS = 2**63 - 1  # as the ledger stores them: the years 1678 to 2262


def nanoseconds(time: datetime | None) -> int | None:
    """Nanoseconds since the epoch, to the microsecond; of a time that no file can have, the nearest that one can."""
    if time is None:
        return None
    try:
        seconds = math.floor(time.timestamp())
    except (OverflowError, ValueError, OSError) as error:
        raise UsageError(f"the date {time} is beyond what a file can have: {error}") from error
    return min(max(seconds * 1_000_000_000 + time.microsecond * 1_000, -_MOST_NS), _MOST_NS)


def _language(name: str) -> str:
    """The code as it is stored: "" where the language could not be told."""
    code = name.strip().casefold()
    return "" if code == UNKNOWN else code


def _composed(path: str) -> str:
    return unicodedata.normalize("NFC", path)  # some systems store é as two characters


def _matches(path: str, glob: str) -> bool:
    if path == glob:  # a name may hold brackets
        return True
    return fnmatchcase(path if "/" in glob else path.rpartition("/")[2], glob)


def _folder(name: str) -> str:
    """The beginning of every path in the folder; "" for the source itself."""
    parts = [part for part in _composed(name).split("/") if part not in ("", ".")]
    return "/".join([*parts, ""])


def _is_of_type(path: str, media_type: str, name: str) -> bool:
    if "/" in name:
        return fnmatchcase(media_type.casefold(), name)
    return PurePosixPath(path).suffix.casefold().removeprefix(".") == name.removeprefix(".")
