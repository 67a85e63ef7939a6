"""Commands are imported when they run, and listed without that."""

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

from pincite.command_list import COMMANDS, GROUPS
from tests.commands import ROOT, Pincite

HEAVY = {"pyarrow", "pdfplumber", "torch", "prefect", "fastapi", "mcp", "sqlalchemy", "duckdb"}


EVERY = [*COMMANDS.values(), *(one for _, commands in GROUPS.values() for one in commands.values())]


@pytest.mark.parametrize(("target", "summary"), EVERY)
def test_what_help_lists_is_what_the_command_says_of_itself(target: str, summary: str) -> None:
    module, function = target.split(":")
    said = inspect.getdoc(getattr(import_module(module), function))
    assert said is not None and " ".join(said.split("\n\n")[0].split()) == summary


def imported_by(arguments: list[str]) -> set[str]:
    code = f"""
import sys
from pincite.cli import main
sys.argv = {["pincite", *arguments]!r}
try:
    main()
except SystemExit:
    pass
print("IMPORTED", *{{name.partition(".")[0] for name in sys.modules}})
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("IMPORTED")[2].split())


def test_the_list_of_commands_imports_none_of_them() -> None:
    assert not imported_by(["--help"]) & HEAVY


def test_the_help_of_a_search_imports_neither_index_nor_model() -> None:
    assert not imported_by(["search", "--help"]) & (HEAVY | {"numpy", "pydantic_settings", "tokenizers"})


def test_status_imports_no_parser_server_or_model() -> None:
    assert not imported_by(["status", "--index", "nowhere"]) & (HEAVY - {"pyarrow", "sqlalchemy"})


def test_a_command_keeps_its_help_and_its_errors(pincite_here: Pincite) -> None:
    help_of_one = pincite_here("search", "--help")
    assert help_of_one.returncode == 0 and "--min-ocr-confidence" in help_of_one.stdout
    assert "pincite search" in help_of_one.stdout
    wrong = pincite_here("serch")
    assert wrong.returncode == 2 and "Did you mean 'search'" in wrong.stderr
    lacking = pincite_here("search")
    assert lacking.returncode == 2 and "Missing argument" in lacking.stderr
