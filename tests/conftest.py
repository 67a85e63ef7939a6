"""What tests of several rooms share: a small disk, and profiles for hypothesis.

`fast` draws the same examples every time; `HYPOTHESIS_PROFILE=full` many new ones.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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

# Before any test imports Prefect: neither its telemetry nor the user's own profile has a place here.
os.environ["DO_NOT_TRACK"] = "1"
os.environ["PREFECT_HOME"] = tempfile.mkdtemp(prefix="pincite-prefect-")


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
