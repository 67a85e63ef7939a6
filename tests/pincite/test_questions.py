"""`pincite questions`: what it prints, and its exit codes."""

import json
from pathlib import Path

from tests.commands import Pincite

RIGHT = {
    "id": "drops",
    "question": "Is it normal that it drips?",
    "needle": "Up to ten drops an hour are normal.",
}
WRONG = {"id": "years", "question": "How old is it?", "needle": "It is ninety years old."}
REFUSED = {"id": "off", "question": "Who won the cup?", "kind": "off-topic"}


def written(folder: Path, *questions: dict[str, str]) -> Path:
    path = folder / "set.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in questions), encoding="utf-8")
    return path


def test_check_names_each_fault_and_ends_with_1(pincite_here: Pincite, samples: Path, tmp_path: Path) -> None:
    sound = pincite_here("questions", "check", written(tmp_path, RIGHT, REFUSED), "--index", samples)
    assert sound.returncode == 0
    assert sound.stdout == "2 questions: 1 with an answer, 1 that must be refused; 0 with a fault\n"
    faulty = pincite_here("questions", "check", written(tmp_path, RIGHT, WRONG), "--index", samples, "--json")
    assert faulty.returncode == 1
    (fault,) = json.loads(faulty.stdout)["faults"]
    assert (fault["id"], fault["code"]) == ("years", "not-in-text")


def test_a_set_that_can_not_be_read_is_wrong_use(
    pincite_here: Pincite, samples: Path, tmp_path: Path
) -> None:
    (tmp_path / "set.jsonl").write_text('{"question": "a", "neddle": "b"}\n', encoding="utf-8")
    result = pincite_here("questions", "check", tmp_path / "set.jsonl", "--index", samples)
    assert result.returncode == 2 and "line 1: unknown keys neddle" in result.stderr


def test_import_writes_documents_and_questions(pincite_here: Pincite, tmp_path: Path) -> None:
    context = "The mill was built in 1782. It has four sails."
    answer = {"text": "1782", "answer_start": context.index("1782")}
    asked = {"id": "1", "question": "When was it built?", "answers": [answer]}
    article = {"title": "Mill", "paragraphs": [{"context": context, "qas": [asked]}]}
    (tmp_path / "squad.json").write_text(json.dumps({"version": "1.1", "data": [article]}), encoding="utf-8")
    arguments = ["questions", "import", tmp_path / "squad.json", "--format", "squad"]
    arguments += ["--documents", tmp_path / "documents", "--questions", tmp_path / "out.jsonl"]
    done = pincite_here(*arguments)
    assert done.returncode == 0 and "documents: 1 in" in done.stdout and "next: pincite index" in done.stdout
    assert (tmp_path / "documents" / "Mill.txt").read_text(encoding="utf-8") == f"{context}\n"
    (line,) = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["needle"] == "The mill was built in 1782."
    again = pincite_here(*arguments)
    assert again.returncode == 2 and "not an empty folder" in again.stderr
    arguments[arguments.index("squad")] = "xml"
    unknown = pincite_here(*arguments)
    assert unknown.returncode == 2 and "squad, beir, financebench" in unknown.stderr
