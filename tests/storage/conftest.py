"""The folders that most tests need."""

from pathlib import Path

import pytest


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"
