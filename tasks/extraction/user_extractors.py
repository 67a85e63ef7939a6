"""Extractors of the user's own, which the settings name.

    "logs.py:read"        a function of a file; a relative path starts at the folder of the settings file
    "acme.logs:read"      a function of a module that is installed, or that stands in the folder of the settings file
    "acme-logs"           a row of the format table: of a plug-in, or one of Pincite's own (`registry.formats`)

The first two are loaded here.
"""

import ast
import hashlib
import importlib
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import cast

from pincite.schemas.errors import ExtractorUnavailable
from pincite.schemas.import_path import put_last
from pincite.tasks.extraction.base.interface import Extractor

FORM = re.compile(
    r"(?P<file>[^:]+\.py):(?P<of_file>\w+)|(?P<module>[\w.]+):(?P<of_module>\w+)|(?P<row>[\w.-]+)"
)


@cache
def load(address: str, folder: str) -> tuple[Extractor, str]:
    """An extractor and the version that it stamps: that of its file when this process first read it.

    Raises `ExtractorUnavailable`.
    """
    version = version_of(address, folder)  # first: a file that changes meanwhile is seen by the next run
    try:
        module = _module(address, folder)
        return cast(Extractor, getattr(module, address.rpartition(":")[2])), version
    except Exception as error:  # a module of the user's may raise anything
        raise ExtractorUnavailable(
            f"the extractor {address} of the settings can't be loaded: {_said(error)}. Looked for in "
            f"{_file(address, folder) or f'{Path(folder).resolve()} and among the installed packages'}"
        ) from error


def version_of(address: str, folder: str) -> str:
    """What an extractor stamps, as its file is now; "" where there is none to be read.

    That is what the file declares as VERSION, or a digest of its code without comments and docstrings. What the
    file imports is not looked at.
    """
    path = _file(address, folder) or _file_of_module(address, folder)
    try:
        content = path.read_bytes() if path else b""
    except OSError:
        return ""
    return _version_of_code(content) if content else ""


def _version_of_code(content: bytes) -> str:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # its import says what is wrong with it
        return hashlib.sha256(content).hexdigest()[:12]
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(one, ast.Name) and one.id == "VERSION" for one in targets):
                return str(node.value.value)
    for holder in ast.walk(tree):
        if isinstance(holder, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            holder.body = [one for one in holder.body if not _is_docstring(one)] or [ast.Pass()]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12]


def _is_docstring(node: ast.stmt) -> bool:
    """Also of a text that stands below a variable."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _file(address: str, folder: str) -> Path | None:
    """The file of an address of the first form."""
    path, _, _ = address.rpartition(":")
    return Path(folder, path).expanduser().resolve() if path.endswith(".py") else None


def _file_of_module(address: str, folder: str) -> Path | None:
    put_last(folder)
    try:
        spec = importlib.util.find_spec(address.partition(":")[0])
    except Exception:  # noqa: BLE001  a package of the user's is imported there; a run says what it raises
        return None
    return Path(spec.origin) if spec and spec.origin else None


def _module(address: str, folder: str) -> ModuleType:
    path = _file(address, folder)
    if path is None:
        put_last(folder)
        return importlib.import_module(address.partition(":")[0])
    name = f"pincite_extractor_{hashlib.sha256(bytes(path)).hexdigest()[:12]}"
    if name in sys.modules:  # another function of the same file
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module of Python")
    put_last(str(path.parent))  # for what it imports from beside itself
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _said(error: Exception) -> str:
    return (
        str(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
    )
