import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval import dense


def unit(rows: int, dimension: int, seed: int) -> dense.Matrix:
    matrix = np.random.default_rng(seed).standard_normal((rows, dimension))
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def brute_force(query: dense.Vector, matrix: dense.Matrix) -> list[int]:
    exact = [sum(float(a) * float(b) for a, b in zip(row, query, strict=True)) for row in matrix]
    return sorted(range(len(matrix)), key=lambda row: (-round(exact[row], 12), row))


@given(st.integers(1, 60), st.sampled_from([2, 3, 17, 64]), st.integers(1, 70), st.integers(0, 10_000))
def test_nearest_equals_a_plain_loop(rows: int, dimension: int, k: int, seed: int) -> None:
    matrix, query = unit(rows, dimension, seed), unit(1, dimension, seed + 1)[0]
    found, cosines = dense.nearest(query, matrix, k)
    assert found.tolist() == brute_force(query, matrix)[:k]
    assert len(cosines) == min(k, rows)
    assert (np.diff(cosines) <= 0).all()


@given(st.integers(1, 300), st.integers(1, 120), st.integers(0, 10_000))
def test_top_k_is_a_prefix_of_top_k_plus_1_among_many_ties(rows: int, k: int, seed: int) -> None:
    few = unit(4, 33, seed)
    matrix = few[np.random.default_rng(seed).integers(0, 4, rows)]
    query = unit(1, 33, seed + 1)[0]
    found, _ = dense.nearest(query, matrix, k)
    longer, _ = dense.nearest(query, matrix, k + 1)
    assert found.tolist() == longer.tolist()[:k]
    assert found.tolist() == brute_force(query, matrix)[:k]


def test_equal_rows_tie_exactly_wherever_they_stand() -> None:
    # Over a block's edge, and at places that a BLAS kernel treats differently.
    row, other = unit(2, 384, 1)
    matrix = np.tile(other, (9_001, 1))
    places = [0, 3, 5, 8_191, 8_192, 9_000]
    matrix[places] = row
    cosines = dense.similarities(row, matrix)
    assert len(set(cosines[places].tolist())) == 1
    assert dense.nearest(row, matrix, 6)[0].tolist() == places


def test_nearly_equal_rows_are_told_apart_though_float32_products_are_not_ordered() -> None:
    query = unit(1, 384, 3)[0]
    base = unit(1, 384, 4)[0]
    matrix = np.tile(base, (2_000, 1))
    draw = np.random.default_rng(5)
    matrix += draw.normal(0, 3e-8, matrix.shape).astype(np.float32)
    exact = matrix.astype(np.float64) @ query.astype(np.float64)
    found, _ = dense.nearest(query, matrix, 25)
    assert exact[found] == pytest.approx(np.sort(exact)[::-1][:25], abs=1e-15)


def test_k_larger_than_the_corpus_gives_what_exists() -> None:
    assert dense.nearest(unit(1, 8, 0)[0], unit(3, 8, 1), 50)[0].shape == (3,)


def test_an_empty_corpus_gives_nothing() -> None:
    rows, cosines = dense.nearest(unit(1, 8, 0)[0], np.empty((0, 8), dtype=np.float32), 5)
    assert (rows.tolist(), cosines.tolist()) == ([], [])


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_row_that_is_not_a_number_is_never_returned(k: int) -> None:
    matrix = unit(4, 8, 1)
    matrix[2] = np.nan
    rows, cosines = dense.nearest(unit(1, 8, 0)[0], matrix, k)
    assert 2 not in rows
    assert len(rows) == min(k, 3)
    assert np.isfinite(cosines).all()


def test_cosine_distance_is_half_the_squared_l2_distance() -> None:
    matrix, query = unit(200, 384, 1), unit(1, 384, 2)[0]
    squared = ((matrix.astype(np.float64) - query.astype(np.float64)) ** 2).sum(axis=1)
    assert dense.distances(dense.similarities(query, matrix)) == pytest.approx(squared / 2, abs=1e-6)


def test_a_vector_is_at_no_negative_distance_from_itself() -> None:
    matrix = unit(200, 384, 1)
    distances = np.array([dense.distances(dense.similarities(row, row[None]))[0] for row in matrix])
    assert (distances >= 0).all()
    assert distances.max() < 1e-6
