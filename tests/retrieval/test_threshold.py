import math
from dataclasses import replace

import pytest

from pincite.retrieval.searcher import open_index
from pincite.retrieval.threshold import DEFAULT_THRESHOLD, no_answer, threshold_of, under_cut
from pincite.schemas.evaluation import Question, QuestionSet
from pincite.storage.queries.calibrations import store_calibration
from pincite.storage.snapshots.index import Index
from tests.retrieval.conftest import SmallIndex

QUESTIONS = QuestionSet("pumps", "a" * 64, (Question("1", "why?"),))


def test_distance_05_passes_and_85_is_refused_at_the_founding_threshold() -> None:
    assert DEFAULT_THRESHOLD == 0.675
    assert under_cut([0.05], 0.675) == [0]
    assert under_cut([0.85], 0.675) == []


def test_the_cut_itself_is_not_under_the_cut() -> None:
    assert under_cut([0.675, math.nextafter(0.675, 0)], 0.675) == [1]


def test_at_most_four_pass_in_the_order_given() -> None:
    assert under_cut([0.5, 0.9, 0.1, 0.2, 0.3, 0.05], 0.675) == [0, 2, 3, 4]


@pytest.mark.parametrize("distance", [math.nan, None, math.inf])
def test_a_distance_that_is_no_number_is_refused(distance: float | None) -> None:
    assert under_cut([distance], 0.675) == []
    assert under_cut([distance, 0.1], 0.675) == [1]


def test_a_threshold_that_is_no_number_lets_nothing_pass() -> None:
    assert under_cut([0.0, 0.1], math.nan) == []


def test_nothing_passes_from_nothing() -> None:
    assert under_cut([], 0.675) == []


def test_the_refusal_names_cut_and_question() -> None:
    expected = 'NO ANSWER: nothing under cosine distance 0.675 for "паелья?"'
    assert no_answer("паелья?", 0.675) == expected


def test_an_index_without_a_calibration_has_the_founding_threshold(small_index: SmallIndex) -> None:
    small_index.write({"a.txt": ["words"]})
    with Index.open(small_index.path) as index:
        threshold = threshold_of(index)
    assert (threshold.distance, threshold.calibration, threshold.warning) == (0.675, None, "")


def test_the_founding_threshold_is_doubted_for_another_model(small_index: SmallIndex) -> None:
    other = replace(small_index, space=replace(small_index.space, model="other"))
    other.write({"a.txt": ["words"]})
    with Index.open(other.path) as index:
        assert "measured with all-MiniLM-L6-v2, and the index is of other" in threshold_of(index).warning


def test_a_calibrated_threshold_is_used_with_what_it_was_measured_on(small_index: SmallIndex) -> None:
    small_index.write({f"{n}.txt": [f"words {n}"] for n in range(5)})
    with Index.open(small_index.path) as index:
        version = index_version(index)
        store_calibration(index, version, 0.5, QUESTIONS, {"cost": 1})
        store_calibration(index, version, 0.61, QUESTIONS, {"cost": 2})
        threshold = threshold_of(index)
    assert threshold.distance == 0.61 and threshold.warning == ""
    assert threshold.calibration is not None
    made = threshold.calibration
    assert (made.model, made.fingerprint) == (small_index.space.model, small_index.space.fingerprint)
    assert (made.version, made.questions, made.questions_sha256) == (version, "pumps", "a" * 64)
    assert made.report == {"cost": 2}


@pytest.mark.parametrize(("changed", "warned"), [(0, False), (2, False), (3, True)])
def test_a_threshold_is_doubted_once_a_fifth_of_the_documents_are_others(
    small_index: SmallIndex, changed: int, warned: bool
) -> None:
    small_index.write({f"{n:02}.txt": [f"words {n}"] for n in range(10)})
    with Index.open(small_index.path) as index:
        store_calibration(index, index_version(index), 0.5, QUESTIONS, {})
        small_index.write({f"{n:02}.txt": [f"words {n}"] for n in range(changed, 10)})
        assert ("measure" in threshold_of(index).warning) is warned


def index_version(index: Index) -> int:
    with index.snapshot() as snapshot:
        return snapshot.version


def test_a_searcher_of_a_former_version_uses_the_threshold_that_was_known_at_it(
    small_index: SmallIndex,
) -> None:
    versions = []
    for turn, threshold in enumerate((None, 0.5, None, 0.61)):
        small_index.write({f"{n:02}.txt": [f"words {n}"] for n in range(10 + turn)})
        with Index.open(small_index.path) as index:
            versions.append(index_version(index))
            if threshold:
                store_calibration(index, versions[-1], threshold, QUESTIONS, {})
    known = []
    for version in versions:
        with open_index(small_index.path, version=version) as searcher:
            known.append(searcher.threshold())
    assert [one.distance for one in known] == [0.675, 0.5, 0.5, 0.61]
    assert f"no threshold had been measured at version {versions[0]}" in known[0].warning
    assert f"At version {versions[-1]} one of 0.61 was measured" in known[0].warning
    assert [one.warning for one in known[1:]] == ["", "", ""]
    with open_index(small_index.path) as searcher:
        assert searcher.threshold().distance == 0.61
