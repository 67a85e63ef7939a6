"""What tests of several rooms share: two workers, one Prefect server, commands, a small disk, hypothesis.

`pytest` uses two processes, `pytest FILE` one; `-n` says otherwise. Of hypothesis, the profile `fast` draws
the same examples every time, `HYPOTHESIS_PROFILE=full` many new ones.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.commands import Pincite, in_a_process, in_this_process
from tests.sharing import session_folder, shared_prefect_server

WORKERS = 2
BEGIN_RUNS = ("index", "retry", "migrate")

settings.register_profile(
    "fast",
    derandomize=True,
    database=None,
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("full", database=None, max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# Before any test imports numpy or torch: the two workers keep both cores busy, and threads that wait for one spin.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Before any test imports Prefect: neither its telemetry nor the user's own profile has a place here.
os.environ["DO_NOT_TRACK"] = "1"
os.environ["PREFECT_HOME"] = tempfile.mkdtemp(prefix="pincite-prefect-")
atexit.register(shutil.rmtree, os.environ["PREFECT_HOME"], ignore_errors=True)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """How many processes run the tests: for a single file this one does."""
    (first, *others) = config.args
    single = not others and Path(first.partition("::")[0]).suffix == ".py"
    return 0 if single else min(WORKERS, len(os.sched_getaffinity(0)))


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of one embedded Prefect server for all flows of the session, and for the commands that it starts."""
    with shared_prefect_server(session_folder(tmp_path_factory) / "prefect") as url:
        yield url


@pytest.fixture(scope="session")
def pincite() -> Pincite:
    """`pincite` as a process of its own: for tests of what only a process shows. Others take `pincite_here`."""
    return in_a_process


@pytest.fixture(scope="session")
def pincite_here(request: pytest.FixtureRequest) -> Pincite:
    """The same in this process: modules and models are loaded once, and runs use the server of the session."""

    def run(*arguments: object, **more: Any) -> "subprocess.CompletedProcess[str]":
        if arguments[0] in BEGIN_RUNS:
            request.getfixturevalue("api")
        return in_this_process(*arguments, **more)

    return run


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs root, to mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)
