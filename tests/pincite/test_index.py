"""`pincite index` over collections, and `pincite retry` of chosen documents."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pincite.schemas.errors import UsageError
from pincite.storage.queries.index_report import DocumentReport, document_reports
from pincite.storage.snapshots.index import Index
from pincite.updating import chosen_failures
from tests.commands import Pincite
from tests.storage.building import PERMANENT, TRANSIENT, reindex

SETTINGS = """
[extractors]
".unknown" = "pincite.tasks.extraction.text.plain:extract_plain"
"""


def loads(text: str) -> Any:
    return json.loads(text)


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A folder with the settings of two collections and their sources."""
    write(tmp_path, {"north/log.txt": "The north pump hums.\n", "north/x.tmp": "scratch"})
    write(tmp_path, {"south/log.txt": "The south pump hums.\n"})
    (tmp_path / "pincite.toml").write_text(
        '[collections.north]\nsource = "north"\nexclude = ["*.tmp"]\n[collections.cold]\nsource = "south"\n'
    )
    return tmp_path


def test_all_collections_are_indexed_and_each_has_its_counts(pincite_here: Pincite, two: Path) -> None:
    done = pincite_here("index", "--json", cwd=two)
    assert done.returncode == 0, done.stderr
    report = loads(done.stdout)
    assert (report["discovered"], report["indexed"], report["chunks"]) == (2, 2, 2)
    assert [(one["collection"], one["indexed"]) for one in report["collections"]] == [
        ("cold", 1),
        ("north", 1),
    ]
    documents = loads(pincite_here("documents", "--json", cwd=two).stdout)
    assert [(one["document"], one["collection"]) for one in documents] == [
        ("log.txt", "north"),
        ("log.txt", "cold"),
    ]
    for command in ("documents", "retry"):
        wrong = pincite_here(command, "--collection", "could", cwd=two)
        assert wrong.returncode == 2 and "named could. Known are: cold, north" in wrong.stderr
    only = pincite_here("documents", "--collection", "cold", "--json", cwd=two)
    assert [one["collection"] for one in loads(only.stdout)] == ["cold"]

    # A source that is gone is told, keeps its documents, and does not keep the other from being indexed.
    (two / "south").rename(two / "elsewhere")
    (two / "north" / "log.txt").unlink()
    gone = pincite_here("index", "--json", cwd=two)
    assert gone.returncode == 2 and "no such folder" in gone.stderr
    assert "1 of 1 document would be deleted" in gone.stderr and "--confirm-deletions 1" in gone.stderr
    assert [bool(one["error"]) for one in loads(gone.stdout)["collections"]] == [True, True]
    confirmed = pincite_here("index", "--collection", "north", "--confirm-deletions", 1, cwd=two)
    assert confirmed.returncode == 0 and "1 deleted" in confirmed.stdout
    status = pincite_here("status", cwd=two).stdout
    assert f"source  cold: {two / 'south'}" in status and "(!*.tmp)" in status

    dropped = pincite_here("index", "--drop", "--collection", "cold", cwd=two)
    assert dropped.returncode == 2 and "1 document of" in dropped.stderr
    wrong = pincite_here("index", "south", "--drop", "--confirm-deletions", 7, cwd=two)
    assert (
        wrong.returncode == 2 and "--confirm-deletions 7 was given, and the number is 1 now" in wrong.stderr
    )
    dropped = pincite_here("index", "south", "--drop", "--confirm-deletions", 1, "--json", cwd=two)
    assert (dropped.returncode, loads(dropped.stdout)) == (0, {"deleted": 1})
    assert loads(pincite_here("status", "--json", cwd=two).stdout)["chunks"] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("index",), "name the folder or bucket to index"),
        (("index", "--collection", "none"), "no collection is named none"),
        (("index", "--drop"), "--drop needs the source"),
        (("index", "https://example.org"), "a web server can't list"),
        (("index", ".", "--exclude", "!"), "written as in .gitignore"),
        (("index", "--drop", "--collection", "none"), "no such collection"),
    ],
)
def test_wrong_use_of_index_says_what_and_exits_with_2(
    pincite_here: Pincite, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = pincite_here(*arguments, cwd=tmp_path)
    assert result.returncode == 2 and words in result.stderr
    assert not (tmp_path / "pincite-index").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('[collections.a]\nsource = "x"\nincludes = []\n', "[collections.a]: includes"),
        ("collections = 3\n", "collections"),
        ("[collections.a]\n", "collections.a.source"),
        ('[schedule]\ncron = "0 2"\n', "schedule.cron"),
        ('[schedule]\ntimezone = "Europe/Nowhere"\n', "schedule.timezone"),
        ("[notify]\ntimeout_s = 0\n", "notify.timeout_s"),
    ],
)
def test_a_wrong_setting_of_sources_is_named(
    pincite_here: Pincite, tmp_path: Path, content: str, words: str
) -> None:
    (tmp_path / "pincite.toml").write_text(content)
    result = pincite_here("index", cwd=tmp_path)
    assert result.returncode == 2 and words in result.stderr


def test_failed_documents_are_chosen_by_path_id_and_reason(tmp_path: Path) -> None:
    index = tmp_path / "index"
    for name in ("one", "two"):
        reindex(index, write(tmp_path / name, {"a.txt": PERMANENT, f"{name}.txt": f"{TRANSIENT} after nine"}))
    with Index.open(index) as opened:
        failed = document_reports(opened, None, "failed")
    assert len(failed) == 4

    def chosen(names: Sequence[str], reason: str | None = None) -> tuple[DocumentReport, ...]:
        return chosen_failures(failed, names, reason, None)

    assert {one.path for one in chosen(["one.txt", "two.txt", "one.txt"])} == {"one.txt", "two.txt"}
    with pytest.raises(UsageError, match=r"a\.txt is 2 failed documents: .*/one.*/two"):
        chosen(["a.txt"])
    first = failed[0].document_id
    assert chosen([first]) == (failed[0],)
    with pytest.raises(UsageError, match="no failed document is named b"):
        chosen(["b.txt"])
    assert [bool(chosen([first], reason)) for reason in (None, "error", "embed", "FAILS FOR")] == [
        *(True, True, True, True)
    ]
    assert failed[0] not in chosen([], "nine")


@pytest.mark.slow
def test_retry_takes_paths_ids_and_reasons_and_refuses_what_is_ambiguous(
    pincite_here: Pincite, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, {"log.unknown": "The motor hums.\n", "empty.txt": ""})
        assert pincite_here("index", name, cwd=tmp_path).returncode == 1
    failed = loads(pincite_here("documents", "--state", "failed", "--json", cwd=tmp_path).stdout)
    (tmp_path / "pincite.toml").write_text(SETTINGS)
    ambiguous = pincite_here("retry", "log.unknown", cwd=tmp_path)
    assert ambiguous.returncode == 2 and "log.unknown is 2 failed documents" in ambiguous.stderr
    assert all(str(tmp_path / name) in ambiguous.stderr for name in ("one", "two"))
    nothing = pincite_here("retry", "--reason", "encrypted", cwd=tmp_path)
    assert nothing.returncode == 0 and "Nothing to retry" in nothing.stdout

    (chosen,) = [
        one["document_id"] for one in failed if (one["collection"], one["kind"]) == ("one", "unsupported")
    ]
    assert loads(pincite_here("retry", chosen, "--json", cwd=tmp_path).stdout)["indexed"] == 1
    by_reason = pincite_here("retry", "--reason", "unreadable", "--collection", "two", cwd=tmp_path)
    assert by_reason.returncode == 1
    assert "1 failed document was tried again: 0 indexed, 1 failed again" in by_reason.stdout
    assert "1 other one was tried too: 1 indexed, 0 failed again" in by_reason.stdout, "settings are others"
    assert "1 failed document was not tried, being not of this choice" in by_reason.stdout
    told = [line for line in by_reason.stdout.splitlines() if line.startswith("failed: ")]
    assert len(told) == 1 and told[0].startswith("failed: empty.txt"), "only what was tried is told"
    shown = loads(pincite_here("documents", "--attempts", "--json", cwd=tmp_path).stdout)
    history = {(one["collection"], one["document"]): one["history"] for one in shown}
    assert [made["outcome"] for made in history["one", "log.unknown"]] == ["failed", "indexed"]
    assert [made["kind"] for made in history["two", "empty.txt"]] == ["unreadable", "unreadable"]
    text = pincite_here("documents", "--attempts", cwd=tmp_path).stdout
    assert "log.unknown  attempt 1, 20" in text and "indexed" in text


def test_a_question_set_in_the_settings_is_asked_after_each_run_and_ends_a_worse_one_with_1(
    pincite_here: Pincite, tmp_path: Path
) -> None:
    source, index, questions = tmp_path / "source", tmp_path / "index", tmp_path / "set.jsonl"
    source.mkdir()
    needle = "The strainer of the pump is cleaned every month."
    (source / "pump.md").write_text(f"# Pump\n\n{needle}\n\nThe seal is looked at.\n", encoding="utf-8")
    asked = [
        {"id": "clean", "question": "how often is the strainer cleaned?", "needle": needle},
        {"id": "seal", "question": "what is looked at?", "needle": "The seal is looked at."},
    ]
    questions.write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    run = ("index", source, "--index", index, "--json")
    first = pincite_here(*run, PINCITE_QUESTIONS=str(questions))
    assert (first.returncode, json.loads(first.stdout)["gate"]) == (0, None)
    (source / "pump.md").write_text("# Pump\n\nThe seal is looked at.\n", encoding="utf-8")
    second = pincite_here(*run, PINCITE_QUESTIONS=str(questions))
    gate = json.loads(second.stdout)["gate"]
    assert (second.returncode, gate["ok"], gate["destroyed"]) == (1, False, ["clean"])
    assert "evaluation:" in second.stderr and "clean" in second.stderr
    idle = pincite_here(*run, PINCITE_QUESTIONS=str(questions))
    assert (idle.returncode, json.loads(idle.stdout)["gate"]) == (0, None)
    questions.unlink()
    (source / "new.md").write_text("# New\n\nA new page.\n", encoding="utf-8")
    lost = pincite_here(*run, PINCITE_QUESTIONS=str(questions))
    assert (lost.returncode, json.loads(lost.stdout)["indexed"]) == (2, 1)
    assert "can't read the questions" in lost.stderr
