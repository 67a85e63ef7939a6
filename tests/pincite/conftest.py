"""The index of the samples, as a command made it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.commands import SAMPLES, Pincite
from tests.sharing import made_once, session_folder


@pytest.fixture(scope="session")
def sample_run(pincite: Pincite, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """(index of the samples, what `pincite index --json` printed). Made once; each worker has a copy."""

    def make(folder: Path) -> None:
        result = pincite("index", SAMPLES, "--index", folder / "index", "--json")
        assert result.returncode == 1, result.stderr
        (folder / "printed.json").write_text(result.stdout)

    made = made_once(session_folder(tmp_path_factory) / "samples", make)
    index = tmp_path_factory.mktemp("samples") / "index"
    shutil.copytree(made / "index", index)
    return index, json.loads((made / "printed.json").read_text())


@pytest.fixture(scope="session")
def samples(sample_run: tuple[Path, Any]) -> Path:
    return sample_run[0]
