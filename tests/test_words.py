"""What a user reads has the words of docs/glossary.md, and none of those that it replaces."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.test_layout import ROOT, code

GLOSSARY = ROOT / "docs" / "glossary.md"
_ROW = re.compile(r"^\| (?P<word>[^|]+) \| (?P<meaning>[^|]+) \| (?P<older>[^|]*) \|$", re.MULTILINE)
_NAMES = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)
"""Code and addresses in Markdown: names stay as they are."""
_MARKUP = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<style>.*?</style>|<[^>]*>", re.DOTALL)
_READ_ON_PAGES = re.compile(r'(?:aria-label|hx-confirm|placeholder|title)="([^"]*)"')
_OTHER_MEANINGS = re.compile(r"\b(?:white|disk|free|address|user|a) spaces?(?: or a sign)?\b", re.IGNORECASE)
_KEPT = {"in neither leg", "stamps are those of the space"}
"""Values of JSON, which programs read."""
_SQL = ("ALTER ", "CREATE ", "SELECT ")
_DOCSTRINGS_READ = (
    "pincite/commands",
    "pincite/api.py",
    "dashboard/api",
    "dashboard/mcp_server.py",
    "flows/deployments",
)
"""Whose docstrings are help of a command, of the HTTP API, or of a tool."""


def words() -> dict[str, str]:
    """The word that is used, by each older one."""
    return {
        older.strip(): row["word"]
        for row in _ROW.finditer(GLOSSARY.read_text(encoding="utf-8"))
        for older in row["older"].split(",")
        if older.strip() not in {"", "not", "---"}
    }


def read_by_users() -> Iterator[tuple[str, str]]:
    """(where it stands, a text) of every text that a user may read."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        if path != GLOSSARY:
            yield path.name, _NAMES.sub("", path.read_text(encoding="utf-8"))
    for room in ("dashboard", "evaluation", "tasks", "benchmarks"):
        for path in sorted((ROOT / room).rglob("*.j2")):
            text = path.read_text(encoding="utf-8")
            yield path.name, _MARKUP.sub("", _NAMES.sub("", text))
            yield from ((path.name, _MARKUP.sub("", label)) for label in _READ_ON_PAGES.findall(text))
    for path in code():
        where = path.relative_to(ROOT).as_posix()
        yield from ((where, text) for text in _sentences(path, where.startswith(_DOCSTRINGS_READ)))


def _sentences(path: Path, docstrings: bool) -> Iterator[str]:
    """The strings of a module that have several words, those of its docstrings that are help included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unread = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and not docstrings
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in unread:
            text = node.value.strip()
            if " " in text and text not in _KEPT and not text.startswith(_SQL):
                yield _NAMES.sub("", text)


def test_users_read_no_word_that_the_glossary_replaces() -> None:
    replaced = words()
    pattern = re.compile(rf"\b({'|'.join(replaced)})s?\b", re.IGNORECASE)
    found = [
        f"{where}: {text[max(0, hit.start() - 60) : hit.end() + 40]!r}"
        for where, given in read_by_users()
        for text in [_OTHER_MEANINGS.sub("", " ".join(given.split()))]
        for hit in pattern.finditer(text)
    ]
    assert not found, "\n".join(found)
