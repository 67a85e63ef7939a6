"""Published formats, as small files of ours in exactly their shape."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pincite.evaluation.checking import check
from pincite.evaluation.importers import (
    FORMATS,
    Imported,
    read_beir,
    read_financebench,
    read_squad,
    write_imported,
)
from pincite.evaluation.questions import read_questions
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Fault
from pincite.storage.snapshots.index import Index
from tests.storage.building import reindex

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "documents"

MILL = "The mill was built in 1782. It has four sails. Dr. Ambrosius Vahl repaired it in 1911."
SAILS = "It has four sails. The miller lives beside it."


def squad_v1(**answer: Any) -> dict[str, Any]:
    given = {"answer_start": MILL.index("1911"), "text": "1911"} | answer
    return {
        "version": "1.1",
        "data": [
            {
                "title": "Windmill_of_Östra",
                "paragraphs": [
                    {
                        "context": MILL,
                        "qas": [
                            {"id": "57", "question": "When was it repaired?", "answers": [given, given]},
                            {
                                "id": "58",
                                "question": "How many sails has it?",
                                "answers": [{"answer_start": MILL.index("four"), "text": "four"}],
                            },
                        ],
                    },
                    {"context": SAILS, "qas": []},
                ],
            }
        ],
    }


def squad_v2() -> dict[str, Any]:
    data = squad_v1()
    data["version"] = "v2.0"
    asked = data["data"][0]["paragraphs"][0]["qas"]
    for one in asked:
        one["is_impossible"] = False
    plausible = [{"answer_start": 0, "text": "The mill"}]
    asked.append(
        {
            "id": "59",
            "question": "Who burned it down?",
            "answers": [],
            "plausible_answers": plausible,
            "is_impossible": True,
        }
    )
    return data


def file(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, list):
        lines = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in value)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    else:
        path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def faults_of(imported: Imported, folder: Path) -> tuple[Fault, ...]:
    """What the checker says of the set as it was written, indexed and read again."""
    write_imported(imported, folder / "documents", folder / "set.jsonl")
    reindex(folder / "index", folder / "documents")
    read = read_questions(folder / "set.jsonl")
    assert read.questions == imported.questions
    with Index.open(folder / "index") as index:
        return check(index, read)


def test_squad_gives_the_sentence_of_the_answer_as_needle(tmp_path: Path) -> None:
    imported = read_squad(file(tmp_path, "v1.json", squad_v1()))
    (repaired, sails) = imported.questions
    assert repaired.needle == "Dr. Ambrosius Vahl repaired it in 1911."
    assert sails.needle == MILL, "the sentence stands twice, so its neighbours came along"
    assert list(imported.documents) == [repaired.document] and repaired.document.endswith(".txt")
    assert not imported.left_out and not faults_of(imported, tmp_path)


def test_impossible_questions_of_squad_must_be_refused(tmp_path: Path) -> None:
    imported = read_squad(file(tmp_path, "v2.json", squad_v2()))
    assert [one.answerable for one in imported.questions] == [True, True, False]
    assert imported.questions[2].kind == "impossible"
    assert not faults_of(imported, tmp_path)


def test_an_answer_over_two_sentences_takes_both(tmp_path: Path) -> None:
    words = "1782. It has four"
    data = squad_v1(text=words, answer_start=MILL.index(words))
    (first, _) = read_squad(file(tmp_path, "v1.json", data)).questions
    assert first.needle == "The mill was built in 1782. It has four sails."


def test_a_paragraph_that_several_documents_have_is_judged_in_all_of_them(tmp_path: Path) -> None:
    data = squad_v1()
    data["data"].append({"title": "Copy", "paragraphs": [{"context": MILL, "qas": []}]})
    imported = read_squad(file(tmp_path, "v1.json", data))
    assert {one.documents for one in imported.questions} == {tuple(imported.documents)}
    assert not imported.left_out and not faults_of(imported, tmp_path)


def test_what_stands_twice_in_one_document_is_left_out_by_name(tmp_path: Path) -> None:
    data = squad_v1()
    data["data"][0]["paragraphs"].append({"context": f"Again. {MILL}", "qas": []})
    imported = read_squad(file(tmp_path, "v1.json", data))
    assert not imported.questions and [one.partition(":")[0] for one in imported.left_out] == ["57", "58"]


@pytest.mark.parametrize("data", [[], {"data": {}}, {}])
def test_what_is_no_squad_is_refused(tmp_path: Path, data: object) -> None:
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UsageError, match="no SQuAD file"):
        read_squad(path)


BAD_ANSWER = [{"text": "mill", "answer_start": 3}]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"id": "9", "question": "Where?", "answers": BAD_ANSWER}, r"qas[2]: its answer 'mill'"),
        ({"id": "9", "question": "Where?", "answers": [{"text": "", "answer_start": 0}]}, "text is ''"),
        ({"id": "9", "question": " ", "answers": BAD_ANSWER}, "question is ' '"),
        ({"id": "9", "question": "Where?", "answers": []}, "has no answers"),
        ({"question": "Where?", "answers": BAD_ANSWER}, "has no id"),
        ({"id": "57", "question": "Where?", "answers": [{"text": "The", "answer_start": 0}]}, "57: the id"),
        ("nothing", "has no question"),
    ],
)
def test_a_bad_question_is_left_out_by_name_and_the_others_stay(
    tmp_path: Path, asked: object, said: str
) -> None:
    data = squad_v1()
    data["data"][0]["paragraphs"][0]["qas"].append(asked)
    imported = read_squad(file(tmp_path, "v1.json", data))
    assert [one.id for one in imported.questions] == ["57", "58"]
    assert len(imported.left_out) == 1 and said in imported.left_out[0]


@pytest.mark.parametrize("title", [{}, {"title": ""}, {"title": None}])
def test_an_article_without_a_title_has_its_number(tmp_path: Path, title: dict[str, Any]) -> None:
    data = squad_v1()
    del data["data"][0]["title"]
    data["data"][0] |= title
    imported = read_squad(file(tmp_path, "v1.json", data))
    assert list(imported.documents) == ["article-1.txt"] and len(imported.questions) == 2


def test_a_needle_ends_at_a_blank_line_and_has_no_byte_order_mark(tmp_path: Path) -> None:
    context = "\ufeffOn Mills\n\nhttps://example.org\n\nA mill grinds grain. It needs wind."
    at = context.index("grain")
    qas = [{"id": "1", "question": "What?", "answers": [{"text": "grain", "answer_start": at}]}]
    long = {"id": "2", "question": "Who?", "answers": [{"text": "Mills\n\nhttps", "answer_start": 4}]}
    data = {"data": [{"title": "m", "paragraphs": [{"context": context, "qas": [*qas, long]}]}]}
    imported = read_squad(file(tmp_path, "v1.json", data))
    assert [one.needle for one in imported.questions] == ["A mill grinds grain."]
    assert "2: its answer runs over a blank line" in imported.left_out
    assert not faults_of(imported, tmp_path)


def beir(folder: Path, qrels: list[str], corpus: list[Any] | None = None) -> Path:
    entries = corpus or [
        {"_id": "MED-10", "title": "Statins", "text": "Statins lower cholesterol.", "metadata": {}},
        {"_id": "a/b c", "title": "", "text": "Bread rises with yeast."},
        {"_id": "A_B_C", "text": "Bread can rise without yeast."},
        {"_id": "empty", "title": "", "text": ""},
    ]
    file(folder, "corpus.jsonl", entries)
    queries = [{"_id": "q1", "text": "What lowers cholesterol?", "metadata": {}}]
    queries += [{"_id": "q2", "text": "How does bread rise?"}, {"_id": "q3", "text": "Not judged here?"}]
    file(folder, "queries.jsonl", queries)
    file(folder, "qrels/test.tsv", ["query-id\tcorpus-id\tscore", *qrels])
    return folder


def test_beir_is_judged_by_documents(tmp_path: Path) -> None:
    source = beir(tmp_path / "nfcorpus", ["q1\tMED-10\t2", "q2\ta/b c\t1", "q2\tA_B_C\t1", "q2\tMED-10\t0"])
    imported = read_beir(source)
    assert [(one.id, len(one.documents)) for one in imported.questions] == [("q1", 1), ("q2", 2)]
    assert imported.documents["MED-10.txt"] == "Statins\n\nStatins lower cholesterol.\n"
    assert len({name.casefold() for name in imported.documents}) == 3, "one has no words"
    assert not faults_of(imported, tmp_path)


def test_a_query_without_a_right_entry_is_left_out_by_name(tmp_path: Path) -> None:
    imported = read_beir(beir(tmp_path / "set", ["q1\tMED-10\t0", "q2\tempty\t1"]))
    assert not imported.questions and [one[:3] for one in imported.left_out] == ["q1:", "q2:"]


def test_the_split_of_beir_can_be_named(tmp_path: Path) -> None:
    source = beir(tmp_path, ["q1\tMED-10\t1"])
    file(source, "qrels/dev.tsv", ["query-id\tcorpus-id\tscore", "q2\tA_B_C\t1"])
    assert [one.id for one in read_beir(source).questions] == ["q1"]
    assert [one.id for one in read_beir(source, "dev").questions] == ["q2"]
    with pytest.raises(UsageError, match=r"dev, test: name one of them with --split"):
        read_beir(source, "train")


@pytest.mark.parametrize(
    ("qrels", "said"),
    [
        (["q2 MED-10 1"], "test.tsv, line 2: expected query-id, corpus-id and a whole score"),
        (["q2\tMED-99\t1"], "test.tsv, line 2: the corpus has no MED-99"),
        (["q9\tMED-10\t1"], "q9: the qrels judge it, and queries.jsonl lacks it"),
    ],
)
def test_faulty_qrels_are_left_out_by_line(tmp_path: Path, qrels: list[str], said: str) -> None:
    imported = read_beir(beir(tmp_path, [*qrels, "q1\tMED-10\t1"]))
    assert [one.id for one in imported.questions] == ["q1"]
    assert any(said in one for one in imported.left_out)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{", r"corpus\.jsonl, line 2: no JSON"),
        ("[]", r"line 2: no JSON object"),
        ({"_id": "MED-10", "text": "again"}, r"line 2: the _id MED-10 is given twice"),
        ({"_id": "x", "text": 3}, r"line 2: title and text must be text"),
        ({"text": "x"}, r"line 2 has no _id"),
    ],
)
def test_a_faulty_entry_is_left_out_by_line(tmp_path: Path, entry: object, said: str) -> None:
    imported = read_beir(beir(tmp_path, ["q1\tMED-10\t1"], [{"_id": "MED-10", "text": "Statins."}, entry]))
    assert imported.documents == {"MED-10.txt": "Statins.\n"} and len(imported.questions) == 1
    assert any(re.search(said, one) for one in imported.left_out)


def evidence(page: object, **more: Any) -> dict[str, Any]:
    return {"evidence_text": "words", "evidence_page_num": page, "evidence_text_full_page": "words"} | more


def financebench(folder: Path, *evidence: list[Any]) -> Path:
    entries = [
        {
            "financebench_id": f"financebench_id_{number:05}",
            "company": "Tarnholm",
            "doc_name": "TARNHOLM_2023_FILE",
            "question_type": "domain-relevant",
            "question_reasoning": "Information extraction",
            "question": "How long is the warranty?",
            "answer": "60 months",
            "justification": "",
            "dataset_subset_label": "OPEN_SOURCE",
            "evidence": list(one),
        }
        for number, one in enumerate(evidence)
    ]
    (folder / "pdfs").mkdir(parents=True)
    shutil.copyfile(SAMPLES / "service-file-34-0933.pdf", folder / "pdfs" / "TARNHOLM_2023_FILE.pdf")
    return file(folder, "data/financebench_open_source.jsonl", list(entries))


def test_financebench_is_judged_by_pages_counted_from_1(tmp_path: Path) -> None:
    source = financebench(
        tmp_path / "set", [evidence(0), evidence(2, evidence_doc_name="TARNHOLM_2023_FILE")]
    )
    imported = read_financebench(source)
    (question,) = imported.questions
    assert (question.document, question.pages) == ("TARNHOLM_2023_FILE.pdf", (1, 3))
    assert question.kind == "domain-relevant" and question.answerable
    write_imported(imported, tmp_path / "documents", tmp_path / "set.jsonl")
    copied = (tmp_path / "documents" / question.document).read_bytes()
    assert copied == (SAMPLES / "service-file-34-0933.pdf").read_bytes()
    assert read_questions(tmp_path / "set.jsonl").questions == imported.questions


def test_evidence_in_two_documents_or_none_is_left_out_by_name(tmp_path: Path) -> None:
    source = financebench(tmp_path, [evidence(0), evidence(1, evidence_doc_name="OTHER")], [])
    imported = read_financebench(source)
    assert not imported.questions and not imported.documents
    assert ["lies in 2 documents" in imported.left_out[0], "is missing" in imported.left_out[1]] == [
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (evidence("3"), r"line 1: evidence_page_num is '3', expected a page counted from 0"),
        (evidence(-1), r"line 1: evidence_page_num is -1"),
        (evidence(0, doc_name="../../etc/passwd"), r"line 1: doc_name is '\.\./\.\./etc/passwd'"),
        ({"evidence_text": "x"}, r"line 1, evidence has no evidence_page_num"),
    ],
)
def test_faulty_financebench_is_left_out_by_line(tmp_path: Path, wrong: object, said: str) -> None:
    imported = read_financebench(financebench(tmp_path, [wrong], [evidence(0)]))
    assert len(imported.questions) == 1
    assert len(imported.left_out) == 1 and re.search(said, imported.left_out[0])


def test_a_pdf_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"lacks 1 of 1 document, such as GONE\.pdf: fetch the PDFs"):
        read_financebench(financebench(tmp_path, [evidence(0, doc_name="GONE")]))


def test_documents_go_into_an_empty_folder_only(tmp_path: Path) -> None:
    imported = read_squad(file(tmp_path, "v1.json", squad_v1()))
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not an empty folder"):
        write_imported(imported, tmp_path / "documents", tmp_path / "set.jsonl")
    assert not (tmp_path / "set.jsonl").exists()


@pytest.mark.parametrize("name", FORMATS)
def test_a_source_that_is_not_there_says_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="can't read"):
        FORMATS[name](tmp_path / "nowhere", "", None)
