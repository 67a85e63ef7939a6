"""Published question sets as documents to index and questions to ask.

    squad          one JSON file, version 1 or 2 (Rajpurkar et al. 2016, 2018)
    beir           a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv (Thakur et al. 2021)
    financebench   one JSON-lines file and a folder of PDFs (Islam et al. 2023)

SQuAD: a document per article; the sentence of the answer is the needle, with its neighbours where it stands more
than once; impossible questions must be refused. BEIR: a document per entry; a question is judged by documents, not
by chunk ids, because those change with the chunker, and it is right when a passage of any document with a positive
score is found. FinanceBench: the PDFs are copied; a question is judged by the pages of its evidence, which the
file counts from 0 and we from 1.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pincite.evaluation.questions import lines_of
from pincite.schemas.counting import counted
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Question
from pincite.tasks.chunking.sentences import sentence_cuts


@dataclass(frozen=True, slots=True)
class Imported:
    """What a published set gives."""

    documents: Mapping[str, str | Path]  # file name to its text, or to the file to copy
    questions: tuple[Question, ...]
    left_out: tuple[str, ...]  # questions that can't be judged here, each with the reason


def write_imported(imported: Imported, documents: Path, questions: Path) -> None:
    """Writes the documents into a folder, made if there is none, and the questions into a file.

    Raises `UsageError` when the folder holds anything: documents of another set would be searched too.
    """
    if documents.exists() and (not documents.is_dir() or any(documents.iterdir())):
        raise UsageError(f"{documents} is not an empty folder: name a new one for the documents")
    try:
        documents.mkdir(parents=True, exist_ok=True)
        for name, source in sorted(imported.documents.items()):
            target = documents / name
            if isinstance(source, Path):
                shutil.copyfile(source, target)
            else:
                target.write_text(source, encoding="utf-8", newline="")
        lines = "".join(f"{line}\n" for line in lines_of(imported.questions))
        questions.write_text(lines, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"can't write {error.filename}: {error.strerror}") from error


# SQuAD


def read_squad(path: Path, split: str = "", documents: Path | None = None) -> Imported:
    """Raises `UsageError` with the place in the file, such as `data[0].paragraphs[2].qas[1]`."""
    data = _json(path)
    articles = _list(data, "data", f"{path}: the file") if isinstance(data, dict) else None
    if articles is None:
        raise UsageError(f"{path} is no SQuAD file: expected an object with the key data")
    names = _Names()
    texts: dict[str, str] = {}
    found: list[tuple[Question, str, int, int]] = []
    for number, article in enumerate(articles):
        where = f"{path}: data[{number}]"
        name = names.new(_text(article, "title", where))
        contexts: list[str] = []
        for index, paragraph in enumerate(_list(article, "paragraphs", where)):
            place = f"{where}.paragraphs[{index}]"
            context = _text(paragraph, "context", place)
            contexts.append(context)
            for q, asked in enumerate(_list(paragraph, "qas", place)):
                found.append(_squad_question(asked, context, name, f"{place}.qas[{q}]"))
        texts[name] = "\n\n".join(dict.fromkeys(contexts)) + "\n"
    _require_distinct((question.id for question, *_ in found), str(path))
    return _with_needles(texts, found)


def _squad_question(asked: Any, context: str, name: str, where: str) -> tuple[Question, str, int, int]:
    """The question without its needle, the paragraph, and where the answer stands in it; (0, 0) for none."""
    question = Question(
        str(_value(asked, "id", where)), _text(asked, "question", where).strip(), document=name
    )
    answers = _list(asked, "answers", where)
    if asked.get("is_impossible"):
        return replace(question, document="", kind="impossible"), context, 0, 0
    if not answers:
        raise UsageError(f"{where} has no answers; mark it is_impossible if it has none")
    words = _text(answers[0], "text", f"{where}.answers[0]")
    start = answers[0].get("answer_start")
    if not words.strip() or type(start) is not int or context[start : start + len(words)] != words:
        raise UsageError(
            f"{where}.answers[0]: {words!r} does not stand at answer_start {start!r} of its context; offsets count "
            "Unicode code points"
        )
    return question, context, start, start + len(words)


def _with_needles(texts: Mapping[str, str], found: Sequence[tuple[Question, str, int, int]]) -> Imported:
    everything = "\0".join(texts.values())
    questions: list[Question] = []
    left_out: list[str] = []
    for question, context, start, end in found:
        if not question.document:
            questions.append(question)
            continue
        needle = _needle(context, start, end, everything)
        if needle:
            questions.append(replace(question, needle=needle))
        else:
            left_out.append(f"{question.id}: its whole paragraph stands more than once")
    return Imported(texts, tuple(questions), tuple(left_out))


def _needle(context: str, start: int, end: int, everything: str) -> str:
    """The sentences that the answer touches, with neighbours until they stand once; "" if they never do."""
    cuts = sorted({0, *sentence_cuts(context, 0, len(context)), len(context)})
    first = max(n for n, cut in enumerate(cuts) if cut <= start)
    last = min(n for n, cut in enumerate(cuts) if cut >= end)
    while True:
        needle = context[cuts[first] : cuts[last]].strip()
        if everything.find(needle) == everything.rfind(needle):
            return needle
        if first == 0 and last == len(cuts) - 1:
            return ""
        first, last = max(0, first - 1), min(len(cuts) - 1, last + 1)


# BEIR


def read_beir(path: Path, split: str = "", documents: Path | None = None) -> Imported:
    """The queries that a split judges: "test" if the folder has it, else its only one.

    Raises `UsageError` with file and line.
    """
    files, texts = _beir_corpus(path / "corpus.jsonl")
    judged = _qrels(_qrels_file(path, split), files)
    questions: list[Question] = []
    left_out: list[str] = []
    seen: set[str] = set()
    for where, entry in _json_lines(path / "queries.jsonl"):
        identity = _text(entry, "_id", where)
        if identity in seen:
            raise UsageError(f"{where}: the _id {identity} is given twice")
        seen.add(identity)
        right = tuple(sorted(file for one in judged.get(identity, ()) if (file := files[one]) in texts))
        if right:
            questions.append(Question(identity, _text(entry, "text", where).strip(), documents=right))
        elif identity in judged:
            left_out.append(f"{identity}: no entry with words has a positive score for it")
    if lost := sorted(judged.keys() - seen):
        raise UsageError(f"{path / 'queries.jsonl'} lacks the query {lost[0]} that the qrels judge")
    return Imported(texts, tuple(questions), tuple(left_out))


def _beir_corpus(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """(id to file name, file name to text); an entry without words has no text."""
    names = _Names()
    files: dict[str, str] = {}
    texts: dict[str, str] = {}
    for where, entry in _json_lines(path):
        identity = _text(entry, "_id", where)
        if identity in files:
            raise UsageError(f"{where}: the _id {identity} is given twice")
        files[identity] = names.new(identity)
        parts = (entry.get("title") or "", _value(entry, "text", where))
        if not all(isinstance(part, str) for part in parts):
            raise UsageError(f"{where}: title and text must be text")
        if words := "\n\n".join(part.strip() for part in parts if part.strip()):
            texts[files[identity]] = f"{words}\n"
    return files, texts


def _qrels_file(path: Path, split: str) -> Path:
    splits = sorted((path / "qrels").glob("*.tsv"))
    wanted = split or "test"
    named = [one for one in splits if one.stem == wanted] or ([] if split else splits)
    if len(named) != 1:
        have = ", ".join(one.stem for one in splits) or "none"
        raise UsageError(f"{path / 'qrels'} has the splits {have}: name one of them with --split")
    return named[0]


def _qrels(path: Path, known: Mapping[str, str]) -> dict[str, list[str]]:
    """Query to the ids of its relevant entries; [] for one that has none with a positive score."""
    judged: dict[str, list[str]] = {}
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if not line.strip() or (number == 1 and line.startswith("query-id")):
            continue
        cells = line.rstrip("\r").split("\t")
        if len(cells) != 3 or not re.fullmatch(r"[+-]?\d+", cells[2].strip()):
            raise UsageError(
                f"{path}, line {number}: expected query-id, corpus-id and a whole score, tabs between"
            )
        if cells[1] not in known:
            raise UsageError(f"{path}, line {number}: the corpus has no {cells[1]}")
        relevant = judged.setdefault(cells[0], [])
        if int(cells[2]) > 0:
            relevant.append(cells[1])
    return judged


# FinanceBench


def read_financebench(path: Path, split: str = "", documents: Path | None = None) -> Imported:
    """The PDFs are looked for in `documents`, else in the folder `pdfs` beside the file or one above.

    Raises `UsageError` with the line, or with the PDFs that are not there.
    """
    folder = documents or next(
        (one / "pdfs" for one in path.resolve().parents[:2] if (one / "pdfs").is_dir()), path.parent / "pdfs"
    )
    files: dict[str, str | Path] = {}
    questions: list[Question] = []
    left_out: list[str] = []
    for where, entry in _json_lines(path):
        identity = str(_value(entry, "financebench_id", where))
        evidence = [_evidence(one, entry, where) for one in _list(entry, "evidence", where)]
        names = sorted({name for name, _ in evidence})
        if len(names) != 1:
            count = f"lies in {counted(len(names), 'document')}" if names else "is missing"
            left_out.append(f"{identity}: its evidence {count}, and pages are judged in one")
            continue
        pages = tuple(sorted({page for _, page in evidence}))
        files[names[0]] = folder / names[0]
        kind = str(entry.get("question_type") or "")
        question = _text(entry, "question", where).strip()
        questions.append(Question(identity, question, document=names[0], kind=kind, pages=pages))
    _require_distinct((question.id for question in questions), str(path))
    if lost := sorted(str(name) for name, file in files.items() if not Path(file).is_file()):
        raise UsageError(
            f"{folder} lacks {len(lost):,} of {counted(len(files), 'document')}, such as {lost[0]}: fetch the "
            "PDFs of the data set and name their folder with --source-documents"
        )
    return Imported(files, tuple(questions), tuple(left_out))


def _evidence(one: Any, entry: Mapping[str, Any], where: str) -> tuple[str, int]:
    """File name and 1-based page."""
    name = one.get("evidence_doc_name") or one.get("doc_name") or entry.get("doc_name")
    page = _value(one, "evidence_page_num", f"{where}, evidence")
    if type(page) is not int or page < 0:
        raise UsageError(f"{where}: evidence_page_num is {page!r}, expected a page counted from 0")
    if not isinstance(name, str) or not name or "/" in name or "\\" in name:
        raise UsageError(f"{where}: doc_name is {name!r}, expected the name of a PDF without .pdf")
    return f"{name}.pdf", page + 1


# Reading


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error}") from error


def _json(path: Path) -> Any:
    try:
        return json.loads(_read(path))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}") from error


def _json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(file and line for messages, the object) of each line that is not empty."""
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{where}: no JSON: {error}") from error
        if not isinstance(value, dict):
            raise UsageError(f"{where}: no JSON object")
        yield where, value


def _value(value: Any, key: str, where: str) -> Any:
    if not isinstance(value, dict) or key not in value:
        raise UsageError(f"{where} has no {key}")
    return value[key]


def _text(value: Any, key: str, where: str) -> str:
    found = _value(value, key, where)
    if not isinstance(found, str) or not found.strip():
        raise UsageError(f"{where}: {key} is {found!r}, expected text")
    return found


def _list(value: Any, key: str, where: str) -> list[Any]:
    found = _value(value, key, where)
    if not isinstance(found, list):
        raise UsageError(f"{where}: {key} is no list")
    return found


def _require_distinct(ids: Iterator[str], where: str) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise UsageError(f"{where}: the id {one} is given twice")
        seen.add(one)


class _Names:
    """File names for titles and ids, none given twice, also where upper and lower case are the same."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, name: str) -> str:
        """`name` itself where it can be; else what is left of it and a digest."""
        plain = re.sub(r"[^\w.-]+", "_", name).strip("._")[:100]
        if plain != name or plain.casefold() in self._taken:
            plain = f"{plain}-{sha256(f'{name} {len(self._taken)}'.encode()).hexdigest()[:8]}".lstrip("-")
        self._taken.add(plain.casefold())
        return f"{plain}.txt"


Reader = Callable[[Path, str, Path | None], Imported]
"""(file or folder, split, folder of the source documents) to what is in it."""

FORMATS: dict[str, Reader] = {"squad": read_squad, "beir": read_beir, "financebench": read_financebench}
