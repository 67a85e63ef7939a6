"""Office files of before 2007 (.doc, .xls, .ppt) and Rich Text, which LibreOffice turns into today's form.

It runs without a window, with a profile of its own in a folder that is deleted, in the process group of the worker:
the document's deadline and memory limit hold for it too. Without LibreOffice a workbook is read by xlrd, Rich Text
by striprtf, and the others end as unsupported with the remedy.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from pincite.schemas.errors import Unreadable, Unsupported
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.office import libreoffice
from pincite.tasks.extraction.office.old_workbook import extract_with_xlrd
from pincite.tasks.extraction.office.rich_text import extract_rich_text
from pincite.tasks.extraction.office.spreadsheet import extract_xlsx
from pincite.tasks.extraction.pictured_office import extract_docx, extract_pptx

_TOLD = 300  # characters of what LibreOffice says, in a message

Read = Callable[[Path, Settings, Progress], Extraction]


def extract_doc(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """A Word file of before 2007."""
    return _converted(path, ".doc", "docx", extract_docx, settings, progress)


def extract_ppt(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """A presentation of before 2007."""
    return _converted(path, ".ppt", "pptx", extract_pptx, settings, progress)


def extract_xls(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """A workbook of before 2007."""
    if not libreoffice.command():
        return extract_with_xlrd(path)
    return _converted(path, ".xls", "xlsx", extract_xlsx, settings, progress)


def extract_rtf(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """A Rich Text file."""
    if not libreoffice.command():
        return extract_rich_text(path, settings)
    return _converted(path, ".rtf", "docx", extract_docx, settings, progress)


def _converted(
    path: Path, own: str, suffix: str, read: Read, settings: Settings, progress: Progress
) -> Extraction:
    if not libreoffice.command():
        raise Unsupported(
            f"an Office file of before 2007, and LibreOffice, which reads it, is not installed here: install it "
            f"(Debian: libreoffice-writer-nogui libreoffice-impress-nogui), or save the file as .{suffix}"
        )
    progress(1)
    with tempfile.TemporaryDirectory(prefix="pincite-office-") as folder:
        source = Path(folder) / f"document{own}"
        shutil.copyfile(path, source)
        target, told = libreoffice.convert(source, suffix)
        if not target.exists():
            raise Unreadable(
                f"LibreOffice can't read this file: it is damaged or has a password ({told[-_TOLD:]})"
            )
        return read(target, settings, progress)
