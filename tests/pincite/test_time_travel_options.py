"""Times as people write them, and former moments on the command line."""

import json
import os
import time
from datetime import datetime
from pathlib import Path

import pytest

from pincite.schemas.errors import UsageError
from pincite.time_travel_options import end_of
from tests.commands import Pincite
from tests.storage.building import SPACE, fill, reindex

NOW = datetime(2026, 11, 26, 15, 30).astimezone()  # a Thursday


@pytest.mark.parametrize(
    ("at", "until"),
    [
        ("2026-11-24", "2026-11-25T00:00"),
        ("2026-11-24T18:30", "2026-11-24T18:30"),
        ("2026-11-24 18:30:05", "2026-11-24T18:30:05"),
        ("2026-11-24T18:30:00+00:00", "2026-11-24T18:30:00+00:00"),
        ("yesterday", "2026-11-26T00:00"),
        ("today", "2026-11-27T00:00"),
        ("last tuesday", "2026-11-25T00:00"),
        ("Tuesday", "2026-11-25T00:00"),
        ("last  Thursday", "2026-11-20T00:00"),
        ("friday", "2026-11-21T00:00"),
        ("2 days ago", "2026-11-24T15:30"),
        ("1 hour ago", "2026-11-26T14:30"),
        ("3 weeks ago", "2026-11-05T15:30"),
        ("now", "2026-11-26T15:30"),
    ],
)
def test_a_time_is_understood(at: str, until: str) -> None:
    assert end_of(at, NOW) == datetime.fromisoformat(until).astimezone().timestamp()


@pytest.mark.parametrize("at", ["", "soon", "2026-13-01", "24.11.2026", "last blueday", "-1 days ago", "0"])
def test_what_is_no_time_is_refused_with_examples(at: str) -> None:
    with pytest.raises(UsageError, match="is no time: write a date"):
        end_of(at, NOW)


@pytest.fixture
def moved(tmp_path: Path) -> tuple[Path, float]:
    """An index of two versions, and a time between them."""
    index, source = tmp_path / "index", tmp_path / "source"
    reindex(index, fill(source, {"a.txt": "# A\n\nleakage of the seal"}))
    between = time.time()
    time.sleep(0.01)
    reindex(index, fill(source, {"a.txt": "# A\n\nnothing of the kind"}))
    os.environ.pop("PINCITE_INDEX", None)
    return index, between


def test_each_reading_command_travels(pincite_here: Pincite, moved: tuple[Path, float]) -> None:
    index, between = moved
    at = datetime.fromtimestamp(between).astimezone().isoformat()
    for when in (("--version", 1), ("--at", at)):
        common = ("--index", index, "--json", *when)
        status = pincite_here("status", *common)
        assert json.loads(status.stdout)["version"] == 1, status.stderr
        assert "does not keep" in json.loads(status.stdout)["not_kept"]
        (row,) = json.loads(pincite_here("documents", *common).stdout)
        assert (row["state"], row["stamps"]["model"]) == ("indexed", SPACE.model)
        (row,) = json.loads(pincite_here("sql", "SELECT content FROM chunks", *common).stdout)
        assert row["content"] == "leakage of the seal"
        cited = json.loads(pincite_here("cite", "a.txt#char=5,12", *common).stdout)
        assert (cited["quote"], cited["version"]) == ("leakage", 1)
    both = pincite_here("status", "--index", index, "--version", 1, "--at", at)
    assert both.returncode == 2 and "say one of them" in both.stderr
    gone = pincite_here("sql", "SELECT 1", "--index", index, "--version", 77)
    assert gone.returncode == 2 and "there is no version 77" in gone.stderr


def test_a_search_finds_what_stood_then(pincite_here: Pincite, samples: Path, tmp_path: Path) -> None:
    found = pincite_here(
        "search", "dry running", "--index", samples, "--mode", "bm25", "--version", 1, "--json"
    )
    assert found.returncode == 0 and json.loads(found.stdout)["version"] == 1
    nothing = pincite_here("search", "dry running", "--index", samples, "--mode", "bm25", "--version", 0)
    assert nothing.returncode == 3
    asked = pincite_here("ask", "dry running?", "--index", samples, "--version", 0, "--threshold", 1)
    assert asked.returncode == 3
