"""Where an index lies is known to its local side alone; all others are given what was opened."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import get_type_hints

import pytest

from pincite.encoders.models import Model, ModelName, model_here, name_of, resolve_model
from pincite.schemas.errors import ModelUnavailable
from pincite.schemas.settings import DEFAULT_MODEL
from pincite.tasks.migration.derive import DeriveOrder
from pincite.tasks.steps.embed import EmbedOrder
from pincite.tasks.steps.prepare import PrepareRequest
from tests.test_layout import ROOT, code

LOCAL = {
    "storage/ledger/sqlite.py",
    "storage/locks/quote_lock.py",
    "storage/locks/run_lock.py",
    "storage/objects/download_cache.py",
    "storage/objects/local.py",
    "storage/segments/places.py",
    "storage/snapshots/index.py",
}
"""The local side: an index in a folder of this machine."""

OPENERS = {
    "Index.open",
    "Index.create",
    "has_index",
    "local_places",
    "made_or_opened",
    "opened_for",
    "open_index",
    "Serving.open",
}
ROOTS = {
    "dashboard/app.py",  # a server opens its index when it starts
    "dashboard/state/serving.py",
    "evaluation/evaluate.py",  # a temporary index of another chunker
    "evaluation/gate/regression.py",  # a baseline that is another index
    "evaluation/rebuild.py",
    "flows/evaluate.py",  # Prefect starts a flow in a process of its own, with an address
    "flows/maintain.py",
    "flows/migrate.py",
    "flows/nightly.py",
    "pincite/api.py",
    "retrieval/searcher.py",
    "tasks/steps/configuration.py",
    "tasks/update.py",
}
"""What may open an index by its address, beside the commands, which take it from the command line."""

NAMES = {"index", "index_path", "index_folder", "index_dir", "opened"}
PATHS = {"Path", "Path | None", "str | Path", "PathLike[str]"}


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_function_outside_of_the_local_side_takes_the_path_of_an_index() -> None:
    taken = set()
    for path in code():
        name = path.relative_to(ROOT).as_posix()
        if name in LOCAL:
            continue
        for function in functions(ast.parse(path.read_text(encoding="utf-8"))):
            every = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
            for one in every:
                annotation = ast.unparse(one.annotation) if one.annotation else ""
                if one.arg in NAMES and annotation in PATHS:
                    taken.add(f"{name}:{function.lineno} {function.name}({one.arg}: {annotation})")
    assert taken == set()


def test_an_index_is_opened_by_commands_and_a_few_named_places_only() -> None:
    opening = set()
    for path in code():
        name = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        if called & OPENERS:
            opening.add(name)
    of_commands = {name for name in opening if name.startswith("pincite/commands/")}
    assert opening - of_commands - LOCAL == ROOTS


def test_who_stores_segments_or_locks_an_index_does_it_by_the_protocols() -> None:
    sides = (
        "pincite.storage.locks.run_lock",
        "pincite.storage.locks.quote_lock",
        "pincite.storage.objects.local",
    )
    users = {
        path.relative_to(ROOT).as_posix()
        for path in code()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module in sides
    }
    assert users - LOCAL == {
        "storage/kept_evaluations.py",  # reads a result in a file that a person names
        "tasks/sources/left_out.py",  # knows the folder of an index among documents
    }


@pytest.mark.parametrize("order", [PrepareRequest, EmbedOrder, DeriveOrder])
def test_what_a_worker_is_told_of_a_model_is_its_name_and_digest(order: type) -> None:
    """It finds the weights itself, wherever they lie on its machine."""
    hints = get_type_hints(order)
    assert hints["model"] is ModelName and Model not in hints.values()
    assert {str, int, float} >= set(get_type_hints(ModelName).values())


def test_a_model_of_other_weights_is_refused_by_the_worker() -> None:
    name = name_of(resolve_model(DEFAULT_MODEL))
    assert name.setting == DEFAULT_MODEL and model_here(name) == resolve_model(DEFAULT_MODEL)
    with pytest.raises(ModelUnavailable, match="put the same files there"):
        model_here(replace(name, fingerprint="0" * 64))
