"""`pincite evaluate` on the samples, as its users run it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Pincite

HANDBOOK = "operator-handbook.md"


@pytest.fixture(scope="module")
def own(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the samples' index, in which evaluations are kept."""
    copy = tmp_path_factory.mktemp("evaluate") / "index"
    shutil.copytree(samples, copy)
    return copy


@pytest.fixture(scope="module")
def questions(pincite_here: Pincite, own: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three needles of the samples, in two phrasings, two that must be refused, and one whose words are nowhere."""
    query = f"SELECT content FROM chunks JOIN documents USING (document_id) WHERE path = '{HANDBOOK}' ORDER BY start"
    contents = [
        row["content"] for row in json.loads(pincite_here("sql", query, "--index", own, "--json").stdout)
    ]
    needles = [content.strip().split("\n")[-1] for content in contents if len(content) > 80][:3]
    rows: list[dict[str, object]] = []
    for number, needle in enumerate(needles):
        words = " ".join(needle.split()[:6])
        rows.append({"id": f"q{number}", "question": f"{words}?", "needle": needle, "document": HANDBOOK})
        rows.append({"id": f"r{number}", "question": f"tell me of {words}", "needle": needle})
    rows.append({"id": "passport", "question": "How do I renew my passport?", "kind": "off-topic"})
    rows.append({"id": "code", "question": "What does the code ERR-9999 mean?", "kind": "near-miss"})
    rows.append({"id": "nowhere", "question": "What is nowhere?", "needle": "This is said nowhere."})
    path = tmp_path_factory.mktemp("questions") / "set.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def printed(pincite_here: Pincite, own: Path, questions: Path) -> tuple[str, Any]:
    """What `--json` prints: (its bytes, the value)."""
    result = pincite_here("evaluate", questions, "--index", own, "--json")
    assert result.returncode == 0, result.stderr
    return result.stdout, json.loads(result.stdout)


def test_json_has_strategies_pairs_and_the_sweep_with_intervals(printed: tuple[str, Any]) -> None:
    value = printed[1]
    assert list(value["strategies"]) == ["structural", "structural/dense", "structural/bm25"]
    for scores in value["strategies"].values():
        assert list(scores["recall"]) == ["1", "4", "8", "20"]
        for cut in scores["recall"].values():
            assert cut["of"] == 6 and 0 <= cut["low"] <= cut["value"] <= cut["high"] <= 1
        assert scores["destroyed"]["of"] == 3
    assert {pair["metric"] for pair in value["pairs"]} >= {"recall@1", "recall@20", "destroyed"}
    assert all(pair["p_holm"] is None or pair["p_holm"] >= pair["p"] for pair in value["pairs"])
    (at,) = [point for point in value["refusal"] if point["threshold"] == value["threshold"]]
    assert at["right"] + at["wrong"] + at["refused"] == 6
    assert [one["kind"] for one in at["bluffs"]] == ["near-miss", "off-topic"]


def test_a_faulty_question_is_named_and_left_out(printed: tuple[str, Any]) -> None:
    value = printed[1]
    assert [fault["id"] for fault in value["faults"]] == ["nowhere"]
    assert value["tally"] == {
        "questions": 9,
        "answerable": 6,
        "needles": 3,
        "unanswerable": 2,
        "left_out": 1,
    }
    assert [loss["stage"] for loss in value["losses"] if loss["question"]["id"] == "nowhere"] == [
        "not extracted"
    ]


def test_two_runs_give_the_same_bytes(
    pincite_here: Pincite, own: Path, questions: Path, printed: tuple[str, Any]
) -> None:
    files = {path: path.read_bytes() for path in (own / "evaluations").iterdir()}
    again = pincite_here("evaluate", questions, "--index", own, "--json", PYTHONHASHSEED="7")
    assert (again.returncode, again.stderr, again.stdout) == (0, "", printed[0])
    assert {path: path.read_bytes() for path in (own / "evaluations").iterdir()} == files


def test_the_terminal_shows_the_same_and_history_lists_it(
    pincite_here: Pincite, own: Path, questions: Path, printed: tuple[str, Any], tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    shown = pincite_here("evaluate", questions, "--index", own, "--html", page, "--no-store")
    assert shown.returncode == 0, shown.stderr
    assert "6 questions on 3 needles, 2 that must be refused, 1 left out" in shown.stdout
    assert "left out nowhere" in shown.stdout and "Does each stage pay?" in shown.stdout
    assert "evidence removed" in shown.stdout
    assert page.read_text(encoding="utf-8").startswith("<!")
    history = pincite_here("evaluate", "--history", "--index", own, "--json")
    (line,) = json.loads(history.stdout)
    assert line["name"] == printed[1]["kept"] and line["version"] == printed[1]["version"]


def test_the_gate_ends_with_1_and_names_what_was_lost(
    pincite_here: Pincite, own: Path, questions: Path, printed: tuple[str, Any], tmp_path: Path
) -> None:
    """The new index lost the handbook."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "else.md").write_text("# Else\n\nNothing of it.\n\nWhat is left.", encoding="utf-8")
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    rows.append({"id": "left", "question": "what is left", "needle": "What is left."})
    more = tmp_path / "set.jsonl"
    more.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    new = tmp_path / "new"
    assert pincite_here("index", source, "--index", new).returncode == 0
    result = pincite_here("evaluate", more, "--index", new, "--gate", own, "--json")
    assert result.returncode == 1, result.stderr
    gate = json.loads(result.stdout)["gate"]
    assert not gate["ok"] and gate["destroyed"] == ["q0", "r0", "q1", "r1", "q2", "r2"]
    assert "q0, r0" in gate["reasons"][0]
    same = pincite_here("evaluate", questions, "--index", own, "--gate", printed[1]["kept"])
    assert same.returncode == 0 and "gate: passed" in same.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give a file of questions"),
        (("nothing.jsonl",), "can't read the questions"),
        (("SET", "--gate", "nowhere"), "there is no baseline 'nowhere'"),
        (("SET", "--rerank", "--mode", "dense"), "reranking reorders the fused list"),
        (("SET", "--rerank"), "weights of the reranker"),
        (("SET", "--model", "no-such-model"), "no-such-model"),
        (("SET", "--html", "no/such/folder.html"), "its folder does not exist"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_to_do(
    pincite_here: Pincite, own: Path, questions: Path, arguments: tuple[str, ...], said: str
) -> None:
    given = [questions if one == "SET" else one for one in arguments]
    result = pincite_here("evaluate", *given, "--index", own)
    assert result.returncode == 2 and said in result.stderr.replace("\n", " ")
