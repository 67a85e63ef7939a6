"""Imports run one way, folders are small, and the one name that we install is ours."""

import ast
import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = (
    "schemas",
    "storage/ledger",
    "storage/objects",
    "storage/locks",
    "storage/segments",
    "storage/snapshots",
    "storage",
    "storage/documents",
    "storage/search_cache",
    "storage/runs",
    "storage/migration",
    "storage/erasure",
    "storage/queries",
    "storage/maintenance",
    "storage/checks",
    "encoders",
    "tasks/extraction/pages",
    "tasks/extraction/base",
    "tasks/extraction/ocr",
    "tasks/extraction/office",
    "tasks/extraction/pdf",
    "tasks/extraction/text",
    "tasks/extraction/web",
    "tasks/extraction",
    "tasks/chunking",
    "tasks/sandbox",
    "tasks/runner",
    "tasks/sources",
    "tasks/steps",
    "tasks/migration",
    "tasks/inspection",
    "tasks",
    "retrieval",
    "retrieval/answers",
    "evaluation",
    "evaluation/report",
    "evaluation/gate",
    "flows/prefect_server",
    "flows",
    "flows/deployments",
    "dashboard/http",
    "dashboard/views",
    "dashboard/state",
    "dashboard/actions",
    "dashboard/api",
    "dashboard/pages",
    "dashboard",
    "pincite",
    "pincite/commands",
)
"""All folders of code, each of which imports only folders that stand above it here."""

APART = {
    ("retrieval", "tasks"),
    ("retrieval/answers", "tasks"),
    ("encoders", "storage"),
    ("tasks", "retrieval"),
}
"""Rooms that know nothing of each other, though one stands above the other."""

ROOMS = tuple(dict.fromkeys(layer.split("/", maxsplit=1)[0] for layer in LAYERS))
MOST_FILES = 20
LIGHT = {"torch", "sentence_transformers", "transformers", "prefect"}
"""Libraries that only one room may import, since they are slow or tie plain code to a framework."""


def imports_of(path: Path) -> set[str]:
    """Top-level names of what a file imports."""
    return {module.split(".")[0] for module in modules_of(path)}


def modules_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def folder_of(module: str) -> str:
    """The folder of code that holds a module of ours, or a name in it."""
    parts = module.split(".")
    parts = parts[1:] if len(parts) > 1 and parts[1] in ROOMS else parts
    while not (ROOT.joinpath(*parts)).is_dir():
        parts = parts[:-1]
    return "/".join(parts)


def code() -> Iterator[Path]:
    for room in ROOMS:
        yield from (path for path in sorted((ROOT / room).rglob("*.py")) if not path.is_symlink())


def test_a_folder_imports_only_folders_that_stand_above_it() -> None:
    seen = set()
    for path in code():
        folder = path.parent.relative_to(ROOT).as_posix()
        seen.add(folder)
        for module in modules_of(path):
            if module.split(".")[0] != "pincite":
                continue
            used = folder_of(module)
            assert LAYERS.index(used) <= LAYERS.index(folder), f"{path} imports {module}"
            assert (folder.split("/")[0], used.split("/")[0]) not in APART, f"{path} imports {module}"
    assert seen - set(LAYERS) == {"tasks/extraction", "pincite"} - set(LAYERS)


def test_a_room_is_imported_by_its_full_name_only() -> None:
    for path in (*code(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")):
        assert not imports_of(path) & set(ROOMS) - {"pincite"}, path


def test_no_folder_has_more_files_than_one_sees_at_a_glance() -> None:
    for folder in {path.parent for path in code()}:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= MOST_FILES, f"{folder}: {len(files)} files"


def test_prefect_is_imported_in_flows_only() -> None:
    users = {path.relative_to(ROOT).parts[0] for path in code() if "prefect" in imports_of(path)}
    assert users == {"flows"}


def test_torch_is_imported_by_the_embedder_and_the_reranker_only() -> None:
    heavy = {path.relative_to(ROOT).as_posix() for path in code() if imports_of(path) & (LIGHT - {"prefect"})}
    assert heavy == {"encoders/bert_engine.py", "encoders/embedding.py", "retrieval/rerank.py"}


def test_no_other_distribution_owns_our_name() -> None:
    assert set(importlib.metadata.packages_distributions().get("pincite", ["pincite"])) == {"pincite"}


def test_only_storage_opens_what_is_on_disk() -> None:
    for path in code():
        if path.relative_to(ROOT).parts[0] not in {"storage", "flows"}:
            assert not imports_of(path) & {"duckdb", "sqlite3", "sqlalchemy"}, path


def test_a_public_class_name_has_one_meaning() -> None:
    homes: dict[str, list[str]] = {}
    for path in code():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in code():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def test_all_but_a_few_functions_fit_a_screen() -> None:
    lines = [(node.end_lineno or 0) - node.lineno + 1 for _, node in functions()]
    assert sum(count <= 40 for count in lines) / len(lines) >= 0.994


def test_every_function_is_annotated() -> None:
    for path, node in functions():
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        bare = {one.arg for one in given if one.annotation is None} - {"self", "cls"}
        assert not bare and node.returns is not None, f"{path}: {node.name} {sorted(bare)}"
