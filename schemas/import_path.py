"""Where modules are looked for: what stands in the working directory is never taken for a library of ours.

`python -m` and PYTHONPATH=. put the working directory before the standard library and the installed packages, so that
a user's own mcp.py or rich.py would be imported in their place. It is looked into last instead, in every process.
"""

import os
import site
import sys
from collections.abc import Iterable
from pathlib import Path

_HOLDS_PINCITE = Path(__file__).parents[2]
LAST_VARIABLE = "PINCITE_IMPORT_LAST"
"""Folders that a child process looks into last, as in PYTHONPATH."""


def put_working_directory_last() -> None:
    """For the start of a process that is ours alone. A program that imports Pincite keeps its own order."""
    here = os.path.realpath(os.curdir)
    first = [one for one in sys.path if os.path.realpath(one or os.curdir) == here and not _is_site(one)]
    sys.path[:] = [one for one in sys.path if one not in first]
    if first:
        put_last(here)
    for one in os.environ.get(LAST_VARIABLE, "").split(os.pathsep):
        if one:
            put_last(one)


def put_working_directory_last_in_child() -> None:
    """The same in a process that was started with `environment()`, or by one that was; nothing in any other."""
    if LAST_VARIABLE in os.environ:
        put_working_directory_last()


def put_last(folder: str) -> None:
    """Modules are also looked for there, after all other places. A relative folder, and "", start here."""
    folder = os.path.abspath(folder)
    if folder not in sys.path:
        sys.path.append(folder)


def python(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of Pincite in a process of its own."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The variables with which such a process finds Pincite and its libraries, and not what stands here."""
    here = os.path.realpath(os.curdir)
    given = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    kept = [os.path.abspath(one) for one in given if os.path.realpath(one) != here]
    last = [*os.environ.get(LAST_VARIABLE, "").split(os.pathsep), *([here] if len(kept) < len(given) else [])]
    ours = str(_HOLDS_PINCITE)
    return {
        "PYTHONPATH": _joined([*([] if _is_site(ours) else [ours]), *kept]),
        "PYTHONSAFEPATH": "1",
        LAST_VARIABLE: _joined(one for one in last if one),
    }


def _joined(folders: Iterable[str]) -> str:
    return os.pathsep.join(dict.fromkeys(folders))


def _is_site(folder: str) -> bool:
    """Whether packages are installed there: those are found without PYTHONPATH."""
    return folder in site.getsitepackages()
