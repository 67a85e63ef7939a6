"""Imports run one way, and no installed distribution owns one of our names."""

import ast
import importlib.metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BELOW = {
    "schemas": (),
    "storage": ("schemas",),
    "encoders": ("schemas",),
    "tasks": ("schemas", "storage", "encoders"),
    "retrieval": ("schemas", "storage", "encoders"),
    "evaluation": ("schemas", "storage", "encoders", "tasks", "retrieval"),
    "flows": ("schemas", "storage", "encoders", "tasks", "retrieval", "evaluation"),
    "dashboard": ("schemas", "storage", "encoders", "tasks", "retrieval", "evaluation", "flows"),
    "pincite": ("schemas", "storage", "encoders", "tasks", "retrieval", "evaluation", "flows", "dashboard"),
}
LIGHT = {"torch", "sentence_transformers", "transformers", "prefect"}
"""Libraries that only one room may import, since they are slow or tie plain code to a framework."""


def imports_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("room", sorted(BELOW))
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    for path in files:
        upward = imports_of(path) & BELOW.keys() - {room, *BELOW[room]}
        assert not upward, f"{path} imports {upward}"


def test_prefect_is_imported_in_flows_and_in_the_task_wrapper_only() -> None:
    users = {
        path.relative_to(ROOT).as_posix()
        for room in BELOW
        for path in (ROOT / room).rglob("*.py")
        if "prefect" in imports_of(path)
    }
    assert {user for user in users if not user.startswith("flows/")} == {"tasks/document.py"}


def test_torch_is_imported_by_the_embedder_and_the_reranker_only() -> None:
    heavy = {
        path.relative_to(ROOT).as_posix()
        for room in BELOW
        for path in (ROOT / room).rglob("*.py")
        if imports_of(path) & (LIGHT - {"prefect"})
    }
    assert heavy == {"encoders/bert_engine.py", "encoders/embedding.py", "retrieval/rerank.py"}


def test_no_other_distribution_owns_one_of_our_names() -> None:
    owners = importlib.metadata.packages_distributions()
    for room in BELOW:
        assert set(owners.get(room, ["pincite"])) == {"pincite"}, (
            f"{room} is also installed by {owners[room]}"
        )


def test_only_storage_opens_what_is_on_disk() -> None:
    for room in BELOW.keys() - {"storage", "flows"}:
        for path in (ROOT / room).rglob("*.py"):
            assert not imports_of(path) & {"duckdb", "sqlite3", "sqlalchemy"}, path
