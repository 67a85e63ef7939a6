"""Indexes that are made again from stored texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pincite.evaluation.evaluate import Plan
from pincite.evaluation.rebuild import rebuilt
from pincite.schemas.evaluation import Question, QuestionSet
from pincite.schemas.settings import DEFAULT_CHUNKER, Settings
from pincite.storage.checks.verify import verify
from pincite.storage.runs.commit import lease, publish
from pincite.storage.runs.registration import register
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.segments.arrow_rows import Finished
from pincite.storage.snapshots.index import Index
from tests.evaluation.opened import evaluate
from tests.retrieval.conftest import POLICY, SmallIndex, prepare, source_file, unit

_COLUMNS = ("start", "end", "text", "content", "locator", "page_first", "tokens", "terms", "embedding")
HANDBOOK = (
    "Before the first heading.",
    "## Starting",
    "The pump starts slowly. It warms up for a minute. " * 12,
    "## Stopping",
    "The pump stops when the float falls.",
)


def rows(path: Path, columns: Sequence[str] = _COLUMNS) -> list[dict[str, Any]]:
    with Index.open(path) as index, index.snapshot() as snapshot:
        found: list[dict[str, Any]] = snapshot.chunks(columns).to_pylist()
        return found


def test_the_same_settings_make_the_same_chunks_and_vectors_again(small_index: SmallIndex) -> None:
    small_index.write({"a.md": HANDBOOK, "b.md": ["Another document."]})
    with (
        Index.open(small_index.path) as index,
        index.snapshot() as snapshot,
        rebuilt(snapshot, Settings()) as first,
        Index.open(first) as made,
        made.snapshot() as again,
        rebuilt(again, Settings()) as second,
    ):
        assert rows(first) == rows(second)
        assert [check for check in verify(made) if not check.ok] == []
        assert again.space == snapshot.space
    assert not first.exists() and not second.exists()


def test_a_strategy_cuts_stored_texts_as_it_cuts_files(small_index: SmallIndex) -> None:
    small_index.write({"a.md": HANDBOOK})
    with (
        Index.open(small_index.path) as index,
        index.snapshot() as snapshot,
        rebuilt(snapshot, Settings(chunker="E")) as path,
    ):
        found = rows(path)
    assert {row["text"].split("\n")[0] for row in found} == {"[A.Md > Starting]", "[A.Md > Stopping]"}
    assert all(row["page_first"] == 7 for row in found)  # pages are those of the stored text


def test_a_document_of_which_a_strategy_leaves_nothing_has_no_chunks(small_index: SmallIndex) -> None:
    small_index.write({"a.md": ["Left out.", "## Head", " "], "b.md": ["Text."]})
    with (
        Index.open(small_index.path) as index,
        index.snapshot() as snapshot,
        rebuilt(snapshot, Settings(chunker="E")) as path,
    ):
        assert [row["content"] for row in rows(path)] == ["Text."]


def test_two_sources_may_have_a_document_of_the_same_name(small_index: SmallIndex) -> None:
    small_index.write({"README.md": ["The one."]})
    with Index.open(small_index.path) as index, begin_run(index, "index", "/elsewhere") as run:
        (document_id,) = register(run, [source_file("README.md", ["The other."])], POLICY).pending
        job = lease(run, document_id, POLICY, 60)
        assert job is not None
        vector = unit(np.ones(small_index.space.dimension))
        publish(run, [Finished(job, "Other", prepare(["The other."]), vector.reshape(1, -1))], POLICY)
        finish_run(run)
    with (
        Index.open(small_index.path) as index,
        index.snapshot() as snapshot,
        rebuilt(snapshot, Settings()) as path,
    ):
        assert sorted(row["content"] for row in rows(path)) == ["The one.", "The other."]


def test_strategies_of_one_run_are_compared_on_the_same_questions(small_index: SmallIndex) -> None:
    small_index.write({"a.md": HANDBOOK})
    cut = "It warms up for a minute. The pump starts"
    questions = QuestionSet(
        "set",
        "0" * 64,
        (
            Question("before", "what comes first", "Before the first heading.", "a.md"),
            Question("stops", "when does the pump stop", "The pump stops when the float falls.", "a.md"),
        ),
    )
    assert cut in HANDBOOK[2]
    evaluation = evaluate(
        small_index.path, Settings(), questions, Plan(chunkers=(DEFAULT_CHUNKER, "A", "C", "E"))
    )
    scores = {one.strategy.name: one for one in evaluation.strategies}
    assert next(iter(scores)) == evaluation.main == "structural"
    assert {name: one.destroyed.count for name, one in scores.items() if "/" not in name} == {
        "structural": 0,
        "A": 0,
        "C": 1,  # text before the first heading of level two is left out by the reference rule
        "E": 1,
    }
    assert {(pair.first, pair.second) for pair in evaluation.pairs} >= {
        ("A", "C"),
        ("C", "E"),
        ("E", "structural"),
    }
    assert scores["E"].cost.header_tokens > 0 == scores["C"].cost.header_tokens
