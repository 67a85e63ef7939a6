"""A model that makes other vectors than it made is found before it is used."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pincite.schemas.errors import SpaceMismatch
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import probes, spaces_of
from pincite.tasks.migration.probes import PROBES, check_probes
from tests.storage.building import SPACE
from tests.storage.migrating import vectors_of


def turned(texts: Sequence[str], distance: float, only: int | None = None) -> np.ndarray:
    """The vectors of the texts, turned by this cosine distance; all, or one of them."""
    vectors = vectors_of(texts, SPACE).astype(np.float64)
    for row in range(len(vectors)) if only is None else [only]:
        aside = np.random.default_rng(row).standard_normal(SPACE.dimension)
        aside -= (aside @ vectors[row]) * vectors[row]
        aside /= np.linalg.norm(aside)
        angle = np.arccos(1 - distance)
        vectors[row] = np.cos(angle) * vectors[row] + np.sin(angle) * aside
    return vectors.astype(np.float32)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index.create(tmp_path / "index", SPACE)


def test_the_first_check_keeps_the_vectors_and_later_ones_compare(index: Index) -> None:
    with index:
        live = spaces_of(index)[0]
        check_probes(index, live, lambda texts: vectors_of(texts, SPACE))
        assert list(probes(index, live.space_id)) == list(PROBES)
        check_probes(index, live, lambda texts: turned(texts, 9e-4))
        kept = np.array(list(probes(index, live.space_id).values()))
        np.testing.assert_array_equal(kept, vectors_of(PROBES, SPACE), "the first vectors stay")


@pytest.mark.parametrize("distance", [1.2e-3, 0.2])
def test_one_probe_that_moved_is_enough_to_refuse(index: Index, distance: float) -> None:
    with index:
        live = spaces_of(index)[0]
        check_probes(index, live, lambda texts: vectors_of(texts, SPACE))
        with pytest.raises(SpaceMismatch, match=rf"'{PROBES[2]}' moved by a cosine distance of 0\.\d"):
            check_probes(index, live, lambda texts: turned(texts, distance, only=2))


def test_vectors_that_are_no_numbers_or_of_another_length_are_refused(index: Index) -> None:
    with index:
        live = spaces_of(index)[0]
        check_probes(index, live, lambda texts: vectors_of(texts, SPACE))
        for wrong in (np.full((4, 8), np.nan), np.ones((4, 9))):
            with pytest.raises(SpaceMismatch, match="no longer makes the vectors"):
                check_probes(index, live, lambda texts, wrong=wrong: wrong)  # type: ignore[misc]
