"""Office files of before 2007 (.doc, .xls, .ppt) and Rich Text, which LibreOffice turns into today's form.

It runs without a window, with a profile of its own in a folder that is deleted, in the process group of the worker:
the document's deadline and memory limit hold for it too. Without LibreOffice a workbook is read by xlrd, Rich Text
by striprtf, and the others end as unsupported with the remedy.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pincite.schemas.errors import Unreadable, Unsupported
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.office.docx import extract_docx
from pincite.tasks.extraction.office.old_workbook import extract_with_xlrd
from pincite.tasks.extraction.office.pptx import extract_pptx
from pincite.tasks.extraction.office.rich_text import extract_rich_text
from pincite.tasks.extraction.office.spreadsheet import extract_xlsx

SOFFICE = shutil.which("soffice") or shutil.which("libreoffice") or ""
EXTRACTOR_VERSION = "1 LibreOffice" if SOFFICE else "1"
_TOLD = 300  # characters of what LibreOffice says, in a message

Read = Callable[[Path, Settings, Progress], Extraction]


def extract_doc(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """A Word file of before 2007."""
    return _converted(path, "docx", extract_docx, "doc", settings, progress)


def extract_ppt(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """A presentation of before 2007."""
    return _converted(path, "pptx", extract_pptx, "ppt", settings, progress)


def extract_xls(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """A workbook of before 2007."""
    if not SOFFICE:
        return extract_with_xlrd(path, EXTRACTOR_VERSION)
    return _converted(path, "xlsx", extract_xlsx, "xls", settings, progress)


def extract_rtf(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """A Rich Text file."""
    if not SOFFICE:
        return extract_rich_text(path, settings, EXTRACTOR_VERSION)
    return _converted(path, "docx", extract_docx, "rtf", settings, progress)


def _converted(
    path: Path, suffix: str, read: Read, extractor: str, settings: Settings, progress: Progress
) -> Extraction:
    if not SOFFICE:
        raise Unsupported(
            f"an Office file of before 2007, and LibreOffice, which reads it, is not installed here: install it "
            f"(Debian: libreoffice-writer-nogui libreoffice-impress-nogui), or save the file as .{suffix}"
        )
    progress(1)
    with tempfile.TemporaryDirectory(prefix="pincite-office-") as folder:
        source = Path(folder) / f"document.{extractor}"
        shutil.copyfile(path, source)
        told = _run(source, suffix, Path(folder))
        target = source.with_suffix(f".{suffix}")
        if not target.exists():
            raise Unreadable(
                f"LibreOffice can't read this file: it is damaged or has a password ({told[-_TOLD:]})"
            )
        extraction = read(target, settings, progress)
    return replace(extraction, extractor=extractor, extractor_version=EXTRACTOR_VERSION)


def _run(source: Path, suffix: str, folder: Path) -> str:
    """What LibreOffice said. It ends with 0 even where it wrote nothing."""
    command = [
        SOFFICE,
        f"-env:UserInstallation=file://{folder}/profile",
        "--headless", "--norestore", "--nolockcheck", "--nodefault", "--nologo",
        "--convert-to", suffix, "--outdir", str(folder), str(source),
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL
    )
    return " ".join((done.stdout + done.stderr).split()) or f"it ended with {done.returncode}"
