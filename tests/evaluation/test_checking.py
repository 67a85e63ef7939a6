"""Which ground truth is refused, on small real indexes."""

from pathlib import Path

import pytest

from pincite.evaluation.checking import check, sound
from pincite.evaluation.questions import read_questions
from pincite.schemas.evaluation import Fault, Question, QuestionSet
from pincite.storage.snapshots.index import Index
from tests.storage.building import fill, reindex

DOCUMENTS = {
    "pumps.md": "# Pumps and seals\n\nThe seal holds for a year.\n\nThe seal is made of\ncarbon.",
    "valves.md": "# Valves\n\nA valve closes in a second.\n\nIt is closed by hand. It is closed by hand.",
    "again/valves.md": "# Valves\n\nA valve closes in a second.",
    "repeats.md": "banana banana banana",
}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    reindex(tmp_path / "index", fill(tmp_path / "source", DOCUMENTS))
    return tmp_path / "index"


def faults(index: Path, *questions: Question) -> dict[str, Fault]:
    with Index.open(index) as opened:
        return {fault.id: fault for fault in check(opened, QuestionSet("set", "", questions))}


def fault(index: Path, **given: object) -> tuple[str, str]:
    """(code, reason) of one question; ("", "") when it has none."""
    found = faults(index, Question("q", "?", **given))  # type: ignore[arg-type]
    return (found["q"].code, found["q"].reason) if found else ("", "")


def test_what_stands_once_in_the_named_document_is_sound(index: Path) -> None:
    assert not faults(
        index,
        Question("a", "?", "The seal holds for a year.", "pumps.md"),
        Question("b", "?", "The seal is made of\ncarbon."),
        Question("c", "?", "holds for"),
        Question("d", "?", pages=(1,), document="pumps.md"),
        Question("e", "?", documents=("pumps.md", "again/valves.md")),
        Question("f", "must be refused"),
    )


@pytest.mark.parametrize(
    ("needle", "where"),
    [
        ("It is closed by hand.", "2 times: valves.md (2)"),
        ("A valve closes in a second.", "2 times: again/valves.md (1), valves.md (1)"),
        ("banana banana", "2 times: repeats.md (2)"),  # occurrences that overlap count too
    ],
)
def test_a_needle_that_stands_twice_is_named_with_its_places(index: Path, needle: str, where: str) -> None:
    code, reason = fault(index, needle=needle)
    assert code == "repeated" and where in reason


@pytest.mark.parametrize("needle", ["Pumps and seals", "# Pumps and seals", "seals\n\nThe seal"])
def test_a_heading_is_no_needle_nor_what_runs_over_one(index: Path, needle: str) -> None:
    code, reason = fault(index, needle=needle)
    assert code == "heading" and "pumps.md" in reason


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({"needle": "The seal holds for two years."}, "not-in-text", "is in no stored text"),
        ({"needle": "The seal is made of carbon."}, "not-in-text", "pumps.md with other white space"),
        (
            {"needle": "holds for", "document": "valves.md"},
            "no-document",
            "stands in pumps.md, not in valves.md",
        ),
        ({"needle": "holds for", "document": "pump.md"}, "no-document", "did you mean pumps.md?"),
        ({"needle": "holds for", "document": "x"}, "no-document", "not indexed, or its extraction failed"),
        ({"documents": ("pumps.md", "gone.md")}, "no-document", "gone.md"),
        ({"pages": (1, 2, 9), "document": "pumps.md"}, "no-page", "no page 2, 9"),
        ({"chunk_ids": ("nothing",)}, "no-chunk", "no chunk nothing"),
    ],
)
def test_what_can_not_be_judged_has_its_reason(
    index: Path, given: dict[str, object], code: str, said: str
) -> None:
    found, reason = fault(index, **given)
    assert found == code and said in reason


def test_chunk_ids_of_the_index_are_known(index: Path) -> None:
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        ids = snapshot.chunks(["chunk_id"])["chunk_id"].to_pylist()
    assert fault(index, chunk_ids=tuple(ids[:2])) == ("", "")


def test_only_live_texts_count(index: Path, tmp_path: Path) -> None:
    reindex(index, fill(tmp_path / "source", DOCUMENTS | {"again/valves.md": "# Valves\n\nAnother valve."}))
    assert fault(index, needle="A valve closes in a second.") == ("", "")
    reindex(index, fill(tmp_path / "source", {"pumps.md": "The seal holds."}))
    assert fault(index, needle="A valve closes in a second.")[0] == "not-in-text"


def test_a_faulty_question_is_left_out_by_name(index: Path) -> None:
    asked = QuestionSet("set", "", (Question("a", "?", "holds for"), Question("b", "?", "no such words")))
    with Index.open(index) as opened:
        found = check(opened, asked)
    assert [fault.id for fault in found] == ["b"]
    assert [question.id for question in sound(asked, found).questions] == ["a"]


def test_the_checked_set_of_the_repository_is_large_enough() -> None:
    """`tests/pincite/test_questions.py` checks it against the index."""
    root = Path(__file__).resolve().parents[2]
    asked = read_questions(root / "samples" / "questions" / "samples-and-docs.jsonl").questions
    needles: dict[str, set[str]] = {}
    for question in asked:
        needles.setdefault(question.needle, set()).add(question.kind)
    refused = needles.pop("")
    assert len(needles) >= 32 and all(kinds == {"course", "ticket"} for kinds in needles.values())
    assert refused == {"near-miss", "off-topic"}
    assert sum(not question.answerable for question in asked) >= 30


def test_a_ticket_gives_no_run_of_words_of_its_needle_away() -> None:
    root = Path(__file__).resolve().parents[2]
    for name in ("samples-and-docs", "founding-measurement"):
        for question in read_questions(root / "samples" / "questions" / f"{name}.jsonl").questions:
            if question.kind == "ticket":
                words = question.question.casefold().split()
                runs = [" ".join(words[n : n + 4]) for n in range(len(words) - 3)]
                needle = " ".join(question.needle.casefold().split())
                assert not [run for run in runs if run in needle], question.id
