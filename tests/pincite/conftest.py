"""The command line as its users run it: a process, its output, its exit code."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pincite.cli import main

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples" / "documents"

Pincite = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def pincite() -> Pincite:
    def run(*arguments: object, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pincite", *map(str, arguments)],
            cwd=cwd,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def pincite_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Pincite:
    """The same in this process, for many runs: the model is loaded once."""

    def run(*arguments: object, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patched:
            patched.setattr(sys, "argv", ["pincite", *map(str, arguments)])
            patched.chdir(cwd)
            for name, value in variables.items():
                patched.setenv(name, value)
            capsys.readouterr()
            try:
                main()
                code: object = 0
            except SystemExit as ended:
                code = ended.code or 0
        printed = capsys.readouterr()
        assert isinstance(code, int)
        return subprocess.CompletedProcess(sys.argv, code, printed.out, printed.err)

    return run


@pytest.fixture(scope="session")
def sample_run(pincite: Pincite, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """(index of the samples, what `pincite index --json` printed)."""
    index = tmp_path_factory.mktemp("samples") / "index"
    result = pincite("index", SAMPLES, "--index", index, "--json")
    assert result.returncode == 1, result.stderr
    return index, json.loads(result.stdout)


@pytest.fixture(scope="session")
def samples(sample_run: tuple[Path, Any]) -> Path:
    return sample_run[0]
