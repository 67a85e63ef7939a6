import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.retrieval import dense
from tests.retrieval.plain import unit, vectors_of


def query_of(dimension: int, seed: int) -> dense.Vector:
    return unit(1, dimension, seed)[0].astype(np.float32)


def brute_force(query: dense.Vector, matrix: dense.Codes) -> list[int]:
    exact = [sum(float(a) * float(b) for a, b in zip(row, query, strict=True)) for row in matrix]
    return sorted(range(len(matrix)), key=lambda row: (-round(exact[row], 12), row))


@given(st.integers(1, 60), st.sampled_from([2, 3, 17, 64]), st.integers(1, 70), st.integers(0, 10_000))
def test_nearest_equals_a_plain_loop(rows: int, dimension: int, k: int, seed: int) -> None:
    matrix, query = unit(rows, dimension, seed), query_of(dimension, seed + 1)
    found, cosines = vectors_of(matrix, rows // 3, rows // 2).nearest(query, k)
    assert found.tolist() == brute_force(query, matrix)[:k]
    assert len(cosines) == min(k, rows)
    assert (np.diff(cosines) <= 0).all()


@given(st.integers(1, 300), st.integers(1, 120), st.integers(0, 10_000))
def test_top_k_is_a_prefix_of_top_k_plus_1_among_many_ties(rows: int, k: int, seed: int) -> None:
    few = unit(4, 33, seed)
    matrix = few[np.random.default_rng(seed).integers(0, 4, rows)]
    query, vectors = query_of(33, seed + 1), vectors_of(matrix, rows // 2)
    found, _ = vectors.nearest(query, k)
    longer, _ = vectors.nearest(query, k + 1)
    assert found.tolist() == longer.tolist()[:k]
    assert found.tolist() == brute_force(query, matrix)[:k]


def test_equal_rows_tie_exactly_wherever_they_stand() -> None:
    # Over the edges of blocks, and at places that a vector kernel treats differently.
    row, other = unit(2, 384, 1)
    matrix = np.tile(other, (9_001, 1))
    places = [0, 3, 5, 8_191, 8_192, 9_000]
    matrix[places] = row
    vectors, query = vectors_of(matrix, 4, 8_192), row.astype(np.float32)
    assert len(set(vectors.similarities(query, np.array(places)).tolist())) == 1
    assert vectors.nearest(query, 6)[0].tolist() == places


@pytest.mark.parametrize("rows", [300, 9_000])
def test_more_equal_rows_than_one_look_brings_still_go_by_row(rows: int) -> None:
    matrix = np.tile(unit(1, 33, 1), (rows, 1))
    vectors = vectors_of(matrix, rows // 2)
    assert vectors.nearest(query_of(33, 2), 25)[0].tolist() == list(range(25))
    backwards = dense.Vectors([matrix], order=lambda found: -found)
    assert backwards.nearest(query_of(33, 2), 25)[0].tolist() == list(range(rows - 1, rows - 26, -1))


@given(st.integers(1, 200), st.integers(1, 210), st.integers(0, 10_000), st.floats(0, 1))
def test_what_is_not_looked_at_takes_no_place(rows: int, k: int, seed: int, share: float) -> None:
    matrix, query = unit(rows, 17, seed), query_of(17, seed + 1)
    among = np.random.default_rng(seed).random(rows) < share
    found, _ = vectors_of(matrix, rows // 2).nearest(query, k, among)
    assert found.tolist() == [row for row in brute_force(query, matrix) if among[row]][:k]


def test_nearly_equal_rows_are_told_apart_though_float32_products_are_not_ordered() -> None:
    query = query_of(384, 3)
    draw = np.random.default_rng(5)
    bits = np.tile(unit(1, 384, 4), (2_000, 1)).view(np.uint16)
    small = np.abs(bits.view(np.float16)) < 2e-3  # whose last bit weighs some 1e-6
    bits += small & (draw.random(bits.shape) < 0.2)
    matrix = bits.view(np.float16)
    exact = matrix.astype(np.float64) @ query.astype(np.float64)
    assert np.ptp(exact) < 1e-5
    found, _ = vectors_of(matrix).nearest(query, 25)
    assert exact[found] == pytest.approx(np.sort(exact)[::-1][:25], abs=1e-15)


def test_k_larger_than_the_corpus_gives_what_exists() -> None:
    assert vectors_of(unit(3, 8, 1)).nearest(query_of(8, 0), 50)[0].shape == (3,)


def test_an_empty_corpus_gives_nothing() -> None:
    rows, cosines = vectors_of(np.empty((0, 8))).nearest(query_of(8, 0), 5)
    assert (rows.tolist(), cosines.tolist()) == ([], [])


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_row_that_is_not_a_number_is_never_returned(k: int) -> None:
    matrix = unit(4, 8, 1)
    matrix[2] = np.nan
    rows, cosines = vectors_of(matrix).nearest(query_of(8, 0), k)
    assert 2 not in rows
    assert len(rows) == min(k, 3)
    assert np.isfinite(cosines).all()


def test_cosine_distance_is_half_the_squared_l2_distance() -> None:
    # Of exactly unit rows, which float16 rows nearly are: 1e-3 is their length's share.
    matrix, query = unit(200, 384, 1), query_of(384, 2)
    squared = ((matrix.astype(np.float64) - query.astype(np.float64)) ** 2).sum(axis=1)
    cosines = vectors_of(matrix).similarities(query, np.arange(200))
    assert dense.distances(cosines) == pytest.approx(squared / 2, abs=1e-3)


def test_a_vector_is_at_no_negative_distance_from_itself() -> None:
    matrix = unit(200, 384, 1)
    distances = np.array(
        [dense.distances(vectors_of(row[None]).similarities(row, np.arange(1)))[0] for row in matrix]
    )
    assert (distances >= 0).all()
    assert distances.max() < 1e-3


@given(st.integers(2, 400), st.integers(0, 10_000))
def test_float16_moves_a_cosine_by_at_most_2_to_the_minus_11(dimension: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    matrix = draw.standard_normal((50, dimension)) * 10.0 ** draw.integers(-4, 1, dimension)
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    query = matrix[0]
    exact = matrix.astype(np.float64) @ query.astype(np.float64)
    found = vectors_of(matrix).similarities(query, np.arange(50))
    assert (
        np.abs(found - exact).max() <= 2.0**-11 + dimension**0.5 * 2.0**-25
    )  # the rest: below 6e-5 steps are equal
