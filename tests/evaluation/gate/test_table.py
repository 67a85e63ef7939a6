"""What a verdict rests on: both shares of a metric, their paired difference and its interval."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.evaluation.gate.compare import gate
from pincite.evaluation.gate.table import measured
from pincite.evaluation.statistics import paired_difference, share
from pincite.schemas.evaluation import Judged, Result
from pincite.schemas.records import Space

SPACE = Space("model", "f" * 64, 4, 256, "1", "structural", "terms")


def result(ranks: list[int | None], destroyed: list[bool]) -> Result:
    """An evaluation of one question for each rank, each with a needle of its own."""
    rows = tuple(
        Judged("structural", f"q{place}", "", f"asked {place}", f"needle:{place}", "answerable", rank, lost)
        for place, (rank, lost) in enumerate(zip(ranks, destroyed, strict=True))
    )
    return Result("", "set", "s", "content", 1, SPACE, 1, 0.675, 4, "structural", rows)


def test_each_metric_has_both_shares_and_their_difference() -> None:
    old = result([1, 1, 2, 9, None], [False] * 5)
    new = result([1, 3, 2, 1, None], [False, False, False, False, True])
    rows = {row.metric: row for row in measured(gate(new, old), new, old)}
    assert list(rows) == ["recall@1", "recall@4", "recall@8", "recall@20", "whole"]
    counts = {name: (row.old.count, row.new.count, row.won, row.lost) for name, row in rows.items()}
    assert counts == {
        "recall@1": (2, 2, 1, 1),
        "recall@4": (3, 4, 1, 0),
        "recall@8": (3, 4, 1, 0),
        "recall@20": (4, 4, 0, 0),
        "whole": (5, 4, 0, 1),
    }
    assert rows["recall@4"].difference.value == pytest.approx(0.2)
    assert (rows["recall@1"].p, rows["recall@4"].p, rows["recall@4"].p_holm) == (1.0, 1.0, 1.0)
    assert rows["recall@20"].p is None and rows["recall@20"].difference.value == 0


def test_holms_p_runs_over_the_metrics_of_the_table() -> None:
    old, new = result([1] * 10, [False] * 10), result([None] * 10, [False] * 10)
    rows = measured(gate(new, old), new, old)
    p = 2 * 0.5**10
    assert [row.p for row in rows] == [pytest.approx(p)] * 4 + [None]
    assert [row.p_holm for row in rows] == [pytest.approx(4 * p)] * 4 + [None]


counts = st.integers(0, 60)


@given(counts, counts, counts, counts)
def test_the_interval_of_a_difference_holds_it_and_turns_with_its_sign(
    a: int, b: int, c: int, d: int
) -> None:
    found, turned = paired_difference(a, b, c, d), paired_difference(a, c, b, d)
    if not a + b + c + d:
        assert found.value is None
        return
    assert found.value is not None and found.low is not None and found.high is not None
    assert turned.low is not None and turned.high is not None
    assert -1 <= found.low <= found.value + 1e-9 <= found.high + 2e-9 <= 1 + 3e-9
    assert (found.low, found.high) == pytest.approx((-turned.high, -turned.low))


def test_without_correlation_it_is_the_root_of_both_wilson_distances() -> None:
    """Newcombe (1998), method 10 with phi = 0: all of one, none of the other."""
    found = paired_difference(0, 10, 0, 0)
    new, old = share(10, 10), share(0, 10)
    assert new.low is not None and old.high is not None
    assert found.value == 1 and found.high == pytest.approx(1)
    assert found.low == pytest.approx(1 - math.hypot(1 - new.low, old.high))
