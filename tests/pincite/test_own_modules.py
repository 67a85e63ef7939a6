"""What stands in the working directory is never imported in place of Pincite or of a library that it uses."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pincite.dashboard.state.run_requests import RunRequest, Runs
from pincite.schemas.settings import Settings
from pincite.storage.queries.index_report import document_reports
from pincite.storage.snapshots.index import Index
from pincite.tasks.steps.configuration import made_or_opened

TAKEN = (
    "tasks",
    "schemas",
    "storage",
    "flows",
    "mcp",
    "rich",
    "typer",
    "numpy",
    "pyarrow",
    "prefect",
    "torch",
)
TAKEN += ("sqlalchemy", "pydantic", "duckdb", "httpx", "tokenizers", "lxml", "uvicorn", "fastapi", "anyio")
STARTS = {
    "python -m pincite": [sys.executable, "-m", "pincite"],
    "pincite": [str(Path(sys.executable).with_name("pincite"))],
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with modules of own, which say so and end what imports them, and a document."""
    for name in TAKEN:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('own {name}.py')\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pump.html").write_text("<p>The pump hums.</p>")
    return tmp_path


@pytest.mark.parametrize(("start", "path"), [*zip(STARTS.values(), ("", "."), strict=True)], ids=STARTS)
def test_a_document_is_indexed_and_found_beside_modules_of_the_users_own(
    here: Path, start: list[str], path: str
) -> None:
    """Both ways to start, with PYTHONPATH and without. The children and the server are started once for each."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*arguments: str, path: str = path) -> str:
        done = subprocess.run(
            [*start, *arguments],
            cwd=here,
            env=variables | ({"PYTHONPATH": path} if path else {}),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    assert json.loads(run("index", "docs", "--json"))["indexed"] == 1
    other = "" if path else "."
    assert json.loads(run("index", "docs", "--json", path=other))["unchanged"] == 1
    for one in (path, other):
        assert "pump.html" in run("search", "pump", path=one)
    assert "1 indexed" in run("status")


def test_a_program_that_imports_pincite_keeps_its_own_order(here: Path) -> None:
    """A library does not touch the path of the program that uses it."""
    code = "import sys; before = [*sys.path]; import pincite; assert sys.path == before"
    subprocess.run([sys.executable, "-c", code], cwd=here, check=True)


def test_the_process_that_starts_runs_and_its_runs_import_ours(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dispatcher of `pincite serve`, the Prefect server, the process of the flow, and its children."""
    (here / "pincite.toml").write_text('[collections.all]\nsource = "docs"\n')
    monkeypatch.chdir(here)
    made_or_opened(here / "pincite-index", Settings()).close()
    monkeypatch.setenv("PYTHONPATH", ".")
    runs = Runs(here / "pincite-index")
    try:
        order = runs.ask(RunRequest.nightly("all")).order
        deadline = time.monotonic() + 300
        while not (asked := next(one for one in runs.orders() if one.order == order)).over:
            assert time.monotonic() < deadline, asked
            time.sleep(0.1)
        assert asked.state == "Completed", asked
    finally:
        runs.close()
    with Index.open(here / "pincite-index") as opened:
        assert [one.state for one in document_reports(opened, None)] == ["indexed"]
