"""The state of an index as Prometheus reads it."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pincite.schemas.errors import UnconfirmedLoss
from pincite.storage.queries.metrics import metrics_text
from pincite.storage.snapshots.index import Index
from tests.storage.building import PERMANENT, SPACE, fill, reindex


def samples(index: Path) -> dict[tuple[str, ...], float]:
    """Each sample by its name and the values of its labels."""
    with Index.open(index) as opened:
        text = metrics_text(opened).decode()
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_gauges_are_the_counts_of_the_ledger(index: Path, tmp_path: Path) -> None:
    north = fill(tmp_path / "north", {"a.txt": "one\n\ntwo", "b.txt": PERMANENT})
    south = fill(tmp_path / "south", {"c.txt": "three"})
    reindex(index, north)
    reindex(index, south)
    (north / "a.txt").unlink()
    (north / "c.txt").write_text("four")
    reindex(index, north)
    read = samples(index)
    assert read["pincite_documents", "north", "indexed"] == 1
    assert read["pincite_documents", "north", "failed"] == 1
    assert read["pincite_documents", "south", "failed"] == 0
    assert read["pincite_chunks",] == 2
    assert read["pincite_run_documents", "north", "deleted"] == 1
    assert read["pincite_run_documents", "south", "indexed"] == 1
    assert read["pincite_run_broken", "north"] == 0
    assert 0 <= read["pincite_run_age_seconds", "south"] < 60
    assert 0 < read["pincite_run_seconds", "north"] < 60
    fill(south, {})
    with pytest.raises(UnconfirmedLoss):
        reindex(index, south)
    assert samples(index)["pincite_run_broken", "south"] == 1


def test_an_empty_index_has_gauges(index: Path) -> None:
    Index.create(index, SPACE).close()
    assert samples(index) == {("pincite_chunks",): 0, ("pincite_version",): 0}
