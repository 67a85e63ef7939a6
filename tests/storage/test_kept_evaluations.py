"""Kept evaluations come back as they were, and say what is wrong with a file that is none."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Judged, Result
from pincite.schemas.tables import EVALUATIONS
from pincite.storage.kept_evaluations import keep, kept, kept_result, read
from pincite.storage.objects.local import LocalStore
from tests.storage.building import SPACE

ROWS = (
    Judged(
        "structural",
        "q1",
        "plain",
        "a" * 32,
        "needle:b",
        "answerable",
        rank=3,
        destroyed=False,
        answered=True,
    ),
    Judged("structural", "q2", "", "c" * 32, "pages:d", "answerable"),
    Judged("structural", "q3", "off-topic", "e" * 32, "", "unanswerable", answered=False),
    Judged("structural", "q4", "", "f" * 32, "needle:g", "left out", fault="repeated"),
    Judged("structural/bm25", "q1", "plain", "a" * 32, "needle:b", "answerable", rank=None, destroyed=False),
)
RESULT = Result("", "set", "0" * 64, "content", 7, SPACE, 3, 0.675, 4, "structural", ROWS)


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    stored = keep(LocalStore(tmp_path), RESULT)
    assert stored.name.startswith("000007-")
    assert kept(LocalStore(tmp_path)) == [stored] == [replace(RESULT, name=stored.name)]
    assert sorted(path.suffix for path in (tmp_path / "evaluations").iterdir()) == [".parquet"]


def test_other_programs_read_it_with_its_stamps(tmp_path: Path) -> None:
    name = keep(LocalStore(tmp_path), RESULT).name
    table = pq.read_table(tmp_path / "evaluations" / f"{name}.parquet")
    assert table.schema.equals(EVALUATIONS)
    assert set(table["model"].to_pylist()) == {SPACE.model} and set(table["version"].to_pylist()) == {7}


def test_the_same_result_is_kept_once_and_another_beside_it(tmp_path: Path) -> None:
    names = [keep(LocalStore(tmp_path), one).name for one in (RESULT, RESULT, replace(RESULT, version=8))]
    assert names[0] == names[1]
    assert [one.name for one in kept(LocalStore(tmp_path))] == [names[0], names[2]]


def test_a_baseline_is_found_by_name_or_path(tmp_path: Path) -> None:
    name = keep(LocalStore(tmp_path), RESULT).name
    path = tmp_path / "evaluations" / f"{name}.parquet"
    assert kept_result(LocalStore(tmp_path), name) == read(path)
    assert kept_result(LocalStore(tmp_path), "nothing") is None
    assert kept_result(LocalStore(tmp_path), f"../evaluations/{name}") is None


@pytest.mark.parametrize("damage", ["not parquet", "another table", "no rows"])
def test_a_file_that_is_no_evaluation_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "file.parquet"
    if damage == "not parquet":
        path.write_bytes(b"PAR1 and then nothing")
    elif damage == "another table":
        pq.write_table(pa.table({"a": [1]}), path)
    else:
        pq.write_table(EVALUATIONS.empty_table(), path)
    with pytest.raises(UsageError, match=r"file\.parquet"):
        read(path)


def test_an_index_without_evaluations_has_none(tmp_path: Path) -> None:
    assert kept(LocalStore(tmp_path)) == []
