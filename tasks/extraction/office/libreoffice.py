"""Whether LibreOffice is installed, and a conversion by it. Imports no library."""

import shutil
import subprocess
from pathlib import Path


def command() -> str:
    """The program's path, "" where it is not installed."""
    return shutil.which("soffice") or shutil.which("libreoffice") or ""


def stamp() -> str:
    """What a version says of it: a file read with it and one read without are not the same."""
    return "libreoffice" if command() else "alone"


def convert(source: Path, suffix: str) -> tuple[Path, str]:
    """(the file beside `source` with this suffix, which may be missing; what LibreOffice said).

    It ends with 0 even where it wrote nothing. Its profile lies beside the file.
    """
    folder = source.parent
    arguments = [
        f"-env:UserInstallation=file://{folder}/profile",
        "--headless", "--norestore", "--nolockcheck", "--nodefault", "--nologo",
        "--convert-to", suffix, "--outdir", str(folder), str(source),
    ]  # fmt: skip
    done = subprocess.run(
        [command(), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        stdin=subprocess.DEVNULL,
    )
    told = " ".join((done.stdout + done.stderr).split()) or f"it ended with {done.returncode}"
    return source.with_suffix(f".{suffix}"), told
