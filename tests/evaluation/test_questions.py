"""Question sets as files."""

import json
from pathlib import Path

import pytest

from pincite.evaluation.questions import lines_of, read_questions
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Question


def written(folder: Path, text: str) -> Path:
    path = folder / "set.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    questions = (
        Question("1", "Wo steht das?", "An der „Wand“\n床前明月光", "a/b.md", "course"),
        Question("p", "?", document="a.pdf", pages=(2, 3)),
        Question("c", "?", chunk_ids=("x", "y")),
        Question("d", "?", documents=("a", "b")),
        Question("n", "off topic?", kind="off-topic"),
    )
    read = read_questions(written(tmp_path, "".join(f"{line}\n" for line in lines_of(questions))))
    assert read.questions == questions
    assert [one.answerable for one in read.questions] == [True, True, True, True, False]
    assert read.name == "set" and len(read.sha256) == 64


def test_a_line_without_id_is_known_by_its_number(tmp_path: Path) -> None:
    read = read_questions(
        written(tmp_path, '\ufeff{"question": "a?"}\n\n{"question": "b?", "needle": null}\r\n')
    )
    assert [one.id for one in read.questions] == ["1", "3"]


def test_every_faulty_line_is_named_at_once(tmp_path: Path) -> None:
    lines = ['{"question": "a"', "[1]", '{"needle": "x"}', '{"question": "a", "neddle": "x"}']
    lines += ['{"question": "a", "pages": ["1"], "document": "d"}', '{"question": "a", "pages": [1]}']
    with pytest.raises(UsageError) as raised:
        read_questions(written(tmp_path, "\n".join(lines)))
    assert all(f"line {number}: " in str(raised.value) for number in range(1, 7))
    assert "unknown keys neddle" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no question in it"),
        ('{"question": "a", "id": "x"}\n{"question": "b", "id": "x"}', "the id x is given twice"),
        ('{"question": "a"}\n{"question": "b", "id": "1"}', "the id 1 is given twice"),
    ],
)
def test_a_set_that_can_not_be_used_says_why(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_questions(written(tmp_path, text))


def test_a_file_that_can_not_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_questions(tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes('{"question": "Größe?"}'.encode("latin-1"))
    with pytest.raises(UsageError, match="not UTF-8"):
        read_questions(tmp_path / "latin.jsonl")


def test_outer_white_space_and_byte_order_marks_of_a_needle_do_not_count(tmp_path: Path) -> None:
    line = {"question": "When?", "needle": "\ufeff It was built in 1790. \n", "needles": [" In 1790. ", " "]}
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(line), encoding="utf-8")
    (question,) = read_questions(path).questions
    assert (question.needle, question.needles) == ("It was built in 1790.", ("In 1790.",))
