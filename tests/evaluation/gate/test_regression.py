"""A kept evaluation of one version is the baseline of the next."""

from dataclasses import replace
from pathlib import Path

import pytest

from pincite.encoders.embedding import Embedder
from pincite.evaluation.evaluate import Plan
from pincite.evaluation.gate import regression as guarding
from pincite.evaluation.gate.regression import matched
from pincite.evaluation.report.report import html
from pincite.evaluation.results import milestone, result_of
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Evaluation, Question, QuestionSet, Result
from pincite.schemas.settings import Settings
from pincite.storage.erasure.forget import forget
from pincite.storage.kept_evaluations import kept, report_of
from pincite.storage.objects.local import LocalStore
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import find
from tests.evaluation.opened import guard
from tests.retrieval.conftest import SmallIndex, at_distance

WHY = "why does the pump stop"
QUESTIONS = QuestionSet(
    "set",
    "0" * 64,
    (Question("q", WHY, "The pump stops, mud."), Question("no", "who won the cup", kind="far")),
)


@pytest.fixture
def two_versions(small_index: SmallIndex, minilm: Embedder) -> tuple[SmallIndex, Result]:
    """An index that was evaluated, then lost the answer."""
    vectors = {"The pump stops, mud.": at_distance(minilm.embed_query(WHY), 0.2)}
    small_index.write({"a.md": ["The pump stops, mud.", "Else."]}, vectors)
    first = guard(small_index.path, Settings(), QUESTIONS).result
    small_index.write({"a.md": ["The pump stops, mud", "Else."]}, vectors)
    return small_index, first


def test_without_an_earlier_evaluation_there_is_no_verdict(small_index: SmallIndex) -> None:
    small_index.write({"a.md": ["The pump stops, mud."]})
    guarded = guard(small_index.path, Settings(), QUESTIONS, baseline="last")
    assert guarded.verdict is None and "no earlier evaluation" in guarded.note


@pytest.mark.parametrize("how", ["last", "name", "file", "folder"])
def test_the_baseline_can_be_named_in_four_ways(
    two_versions: tuple[SmallIndex, Result], how: str, tmp_path: Path, minilm: Embedder
) -> None:
    index, first = two_versions
    path = index.path / "evaluations" / f"{first.name}.parquet"
    elsewhere = SmallIndex(tmp_path / "elsewhere", index.space)
    elsewhere.write({"a.md": ["The pump stops, mud."]})
    guard(elsewhere.path, Settings(), QUESTIONS)
    baseline = {"last": "last", "name": first.name, "file": str(path), "folder": str(elsewhere.path)}[how]
    questions = replace(QUESTIONS, questions=(*QUESTIONS.questions, Question("else", "what else", "Else.")))
    guarded = guard(index.path, Settings(), questions, baseline=baseline)
    assert guarded.verdict is not None and not guarded.verdict.ok
    assert guarded.verdict.destroyed == ("q",)


def test_a_baseline_that_is_nowhere_is_refused_before_anything_is_measured(small_index: SmallIndex) -> None:
    small_index.write({"a.md": ["The pump stops, mud."]})
    with pytest.raises(UsageError, match="there is no baseline 'nowhere'"):
        guard(small_index.path, Settings(), QUESTIONS, baseline="nowhere")
    assert kept(LocalStore(small_index.path)) == []


def test_the_same_evaluation_is_the_same_file(small_index: SmallIndex) -> None:
    small_index.write({"a.md": ["The pump stops, mud."]})
    names = {guard(small_index.path, Settings(), QUESTIONS).result.name for _ in range(2)}
    (only,) = kept(LocalStore(small_index.path))
    assert names == {only.name}


def test_a_kept_result_says_what_the_evaluation_said(small_index: SmallIndex, minilm: Embedder) -> None:
    small_index.write(
        {"a.md": ["The pump stops, mud.", "Else."]},
        {"The pump stops, mud.": at_distance(minilm.embed_query(WHY), 0.2)},
    )
    guarded = guard(small_index.path, Settings(), QUESTIONS, Plan(threshold=0.3))
    (stored,) = kept(LocalStore(small_index.path))
    assert replace(stored, name="") == result_of(guarded.evaluation, QUESTIONS)
    line, main = milestone(stored), guarded.evaluation.strategies[0]
    assert (line.recall, line.mrr, line.destroyed) == (main.recall, main.mrr.value, main.destroyed)
    assert line.bluffs is not None and (line.bluffs.count, line.bluffs.of) == (0, 1)


def test_another_model_is_held_against_the_baseline_where_it_answers_as_much(
    small_index: SmallIndex, minilm: Embedder
) -> None:
    """Its distances are others: here all lie near, as those of e5 do."""
    query, no = minilm.embed_query(WHY), minilm.embed_query("who won the cup")
    small_index.write(
        {"a.md": ["The pump stops, mud.", "Else."]},
        {"The pump stops, mud.": at_distance(query, 0.1), "Else.": at_distance(no, 0.15)},
    )
    first = guard(small_index.path, Settings(), QUESTIONS, Plan(threshold=0.12)).result
    other = replace(first, space=replace(first.space, model="other", fingerprint="a" * 64), threshold=0.9)
    plan = matched(Plan(), other)
    assert plan.answered == 1
    guarded = guard(small_index.path, Settings(), QUESTIONS, plan)
    assert 0.09 < guarded.evaluation.threshold < 0.12
    assert guarded.evaluation.bluffed == () and guarded.evaluation.refused == ()


def test_the_whole_report_is_kept_beside_a_kept_result(small_index: SmallIndex) -> None:
    small_index.write({"a.md": ["The pump has three seals."], "b.md": ["Grey seals swim."]})
    kept = guard(small_index.path, Settings(), QUESTIONS).result
    assert (report_of(LocalStore(small_index.path), kept.name) or "").startswith("<!doctype html>")
    guard(small_index.path, Settings(), QUESTIONS, keep_result=False)
    assert len(list((small_index.path / "evaluations").iterdir())) == 2


def test_a_report_of_what_was_forgotten_meanwhile_is_not_kept(
    small_index: SmallIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_index.write({"a.md": ["The pump has three seals."], "b.md": ["Grey seals swim."]})

    def late(evaluation: Evaluation) -> str:
        page = html(evaluation)
        with Index.open(small_index.path) as index:
            assert forget(index, find(index, "a.md")).proof.found == ()
        return page

    monkeypatch.setattr(guarding, "html", late)
    made = guard(small_index.path, Settings(), QUESTIONS).result
    assert report_of(LocalStore(small_index.path), made.name) is None
    assert [one.name for one in kept(LocalStore(small_index.path))] == [made.name]
