"""Word and PowerPoint files that hold their words in pictures: scans that were pasted into a document.

Where a file has little text of its own, its pictures are read by OCR and follow that text, each on a place that names
it. Elsewhere pictures are illustrations and logos, which are named.
"""

import io
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from PIL import Image, UnidentifiedImageError

from pincite.schemas.errors import DocumentError, Unreadable
from pincite.schemas.records import DocumentWarning, Extraction, Place
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.image import extract_image
from pincite.tasks.extraction.office import docx, pptx

_LITTLE_TEXT = 400  # letters and digits of a file whose pictures are read
_LEAST_PIXELS = 100_000  # of a picture that may hold lines of text
_NAMED = "embedded images are not read"  # the warning of the extractors, which is no longer so
_MOST_PICTURES = 200

Read = Callable[[Path, Settings, Progress], Extraction]


def extract_docx(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The document's text, and that of its pictures where it has little of its own."""
    return _with_pictures(docx.extract_docx, "word/media/", path, settings, progress)


def extract_pptx(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The text of all slides, and that of their pictures where they have little of their own."""
    return _with_pictures(pptx.extract_pptx, "ppt/media/", path, settings, progress)


def _with_pictures(read: Read, folder: str, path: Path, settings: Settings, progress: Progress) -> Extraction:
    try:
        extraction = read(path, settings, progress)
    except Unreadable as error:
        if "holds no text" not in error.message:
            raise
        found = _append(Extraction("", "", docx.MEDIA_TYPE, "", ""), folder, path, settings, progress)
        if not found.text:
            raise
        return found
    if sum(map(str.isalnum, extraction.text)) >= _LITTLE_TEXT:
        return extraction
    return _append(extraction, folder, path, settings, progress)


def _append(
    extraction: Extraction, folder: str, path: Path, settings: Settings, progress: Progress
) -> Extraction:
    for number, (name, data) in enumerate(_pictures(path, folder), start=1):
        progress(number)
        try:
            with tempfile.TemporaryDirectory(prefix="pincite-picture-") as place:
                file = Path(place) / f"picture{PurePosixPath(name).suffix}"
                file.write_bytes(data)
                picture = extract_image(file, settings, lambda page: None)
        except DocumentError as error:
            warning = DocumentWarning("embedded-image", f"{name} is not read: {error.message}")
            extraction = replace(extraction, warnings=(*extraction.warnings, warning))
            continue
        kept = tuple(one for one in extraction.warnings if not one.message.startswith(_NAMED))
        extraction = _joined(replace(extraction, warnings=kept), picture, name)
    return extraction


def _pictures(path: Path, folder: str) -> Iterator[tuple[str, bytes]]:
    """Those that are large enough to hold text, by name."""
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if name.startswith(folder))
        for name in names[:_MOST_PICTURES]:
            data = archive.read(name)
            try:
                with Image.open(io.BytesIO(data)) as image:
                    width, height = image.size
            except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
                continue  # drawings of Windows, films and sounds
            if width * height >= _LEAST_PIXELS:
                yield PurePosixPath(name).name, data


def _joined(extraction: Extraction, picture: Extraction, name: str) -> Extraction:
    """The text of `picture` behind that of `extraction`."""
    start = len(extraction.text) + 2 if extraction.text else 0
    blocks = (replace(one, start=one.start + start, end=one.end + start) for one in picture.blocks)
    words = (replace(one, start=one.start + start, end=one.end + start) for one in picture.words)
    warnings = (replace(one, message=f"{name}: {one.message}", page=None) for one in picture.warnings)
    return replace(
        extraction,
        text=f"{extraction.text}\n\n{picture.text}" if extraction.text else picture.text,
        blocks=(*extraction.blocks, *blocks),
        words=(*extraction.words, *words),
        places=(*extraction.places, Place("entry", start, start + len(picture.text), name)),
        warnings=(*extraction.warnings, *warnings),
    )
