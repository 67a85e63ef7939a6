"""Published question sets as documents to index and questions to ask.

    squad          one JSON file, version 1 or 2 (Rajpurkar et al. 2016, 2018)
    beir           a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv (Thakur et al. 2021)
    financebench   one JSON-lines file and a folder of PDFs (Islam et al. 2023)

SQuAD: a document per article; the sentence of the answer is the needle, with its neighbours where it stands more
than once, never across a blank line; impossible questions must be refused. BEIR: a document per entry; a question
is judged by documents, not by chunk ids, because those change with the chunker, and it is right when a passage of
any document with a positive score is found. FinanceBench: the PDFs are copied; a question is judged by the pages of
its evidence, which the file counts from 0 and we from 1.

A row that can't be used (an answer that does not stand where it is said to, a repeated id, a line that is no JSON)
is left out by name. Only a file that can't be read at all is an error.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from pincite.encoders.sentences import sentence_cuts
from pincite.evaluation.questions import lines_of
from pincite.schemas.counting import counted
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Question

T = TypeVar("T")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")


@dataclass(frozen=True, slots=True)
class Imported:
    """What a published set gives."""

    documents: Mapping[str, str | Path]  # file name to its text, or to the file to copy
    questions: tuple[Question, ...]
    left_out: tuple[str, ...]  # rows that can't be judged or read, each with its name and the reason


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
    """Raises `UsageError` when it is no such file."""
    data = _json(path)
    articles = data.get("data") if isinstance(data, dict) else None
    if not isinstance(articles, list):
        raise UsageError(f"{path} is no SQuAD file: expected an object with the list data")
    rows, names = _Rows(), _Names()
    texts: dict[str, str] = {}
    found: list[_Asked] = []
    for number, article in enumerate(articles):
        where = f"data[{number}]"
        title = article.get("title") if isinstance(article, dict) else None
        name = names.new(title if isinstance(title, str) and title.strip() else f"article-{number + 1}")
        contexts: list[str] = []
        for index, paragraph in enumerate(rows.read(_list, article, "paragraphs", where) or ()):
            place = f"{where}.paragraphs[{index}]"
            context = rows.read(_text, paragraph, "context", place)
            if context is None:
                continue
            contexts.append(without_marks(context))
            for q, asked in enumerate(rows.read(_list, paragraph, "qas", place) or ()):
                one = rows.read(_squad_question, asked, context, name, f"{place}.qas[{q}]")
                if one and rows.is_new(one.question.id):
                    found.append(one)
        if contexts:
            texts[name] = "\n\n".join(dict.fromkeys(contexts)) + "\n"
    return _with_needles(texts, found, rows)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question without its needle, its paragraph, and where the answer stands in it; (0, 0) for none."""

    question: Question
    context: str
    start: int = 0
    end: int = 0


def _squad_question(asked: Any, context: str, name: str, where: str) -> _Asked:
    """By the first of its answers that stands where it is said to. Raises `UsageError` when none does."""
    words = without_marks(_text(asked, "question", where)).strip()
    question = Question(str(_value(asked, "id", where)), words, document=name)
    if asked.get("is_impossible"):
        return _Asked(replace(question, document="", kind="impossible"), context)
    answers = _list(asked, "answers", where)
    if not answers:
        raise UsageError(f"{where} has no answers; mark it is_impossible if it has none")
    for answer in answers:
        given = _text(answer, "text", f"{where}.answers")
        start = answer.get("answer_start")
        if type(start) is int and start >= 0 and context[start : start + len(given)] == given:
            before, inside = context[:start], context[start : start + len(given)]
            begin = len(without_marks(before))
            return _Asked(question, without_marks(context), begin, begin + len(without_marks(inside)))
    raise UsageError(
        f"{where}: its answer {answers[0]['text']!r} does not stand at answer_start "
        f"{answers[0].get('answer_start')!r} of its context; offsets count Unicode code points"
    )


def _with_needles(texts: Mapping[str, str], found: Sequence[_Asked], rows: "_Rows") -> Imported:
    everything = "\0".join(texts.values())
    questions: list[Question] = []
    for one in found:
        if not one.question.document:
            questions.append(one.question)
            continue
        if _BLANK_LINE.search(one.context, one.start, one.end):
            rows.leave_out(f"{one.question.id}: its answer runs over a blank line")
            continue
        holders = tuple(name for name, text in texts.items() if one.context in text)
        needle = _needle(one.context, one.start, one.end, everything, len(holders))
        if not needle:
            rows.leave_out(f"{one.question.id}: its whole paragraph stands more than once in a document")
        elif len(holders) == 1:
            questions.append(replace(one.question, needle=needle))
        else:
            questions.append(replace(one.question, needle=needle, document="", documents=holders))
    return rows.imported(texts, questions)


def _needle(context: str, start: int, end: int, everything: str, holders: int) -> str:
    """The sentences that the answer touches, with neighbours until they stand once in each of the documents that
    hold their paragraph; "" if they never do.

    A blank line ends a sentence, and a needle never spans one: there chunks are parted first.
    """
    low = max((cut.end() for cut in _BLANK_LINE.finditer(context, 0, start)), default=0)
    following = _BLANK_LINE.search(context, start)
    high = following.start() if following else len(context)
    cuts = sorted({low, *sentence_cuts(context, low, high), high})
    first = max(n for n, cut in enumerate(cuts) if cut <= start)
    last = min(n for n, cut in enumerate(cuts) if cut >= end)
    while True:
        needle = context[cuts[first] : cuts[last]].strip()
        if everything.count(needle) == holders:
            return needle
        if first == 0 and last == len(cuts) - 1:
            return ""
        first, last = max(0, first - 1), min(len(cuts) - 1, last + 1)


# BEIR


def read_beir(path: Path, split: str = "", documents: Path | None = None) -> Imported:
    """The queries that a split judges: "test" if the folder has it, else its only one.

    Raises `UsageError` when a file is missing.
    """
    rows = _Rows()
    files, texts = _beir_corpus(path / "corpus.jsonl", rows)
    judged = _qrels(_qrels_file(path, split), files, rows)
    questions: list[Question] = []
    for where, entry in rows.of_lines(path / "queries.jsonl"):
        identity = rows.read(_name, entry, "_id", where)
        if identity is None or not rows.is_new(identity):
            continue
        relevant = judged.pop(identity, None)
        if relevant is None:
            continue
        right = tuple(sorted(file for one in relevant if (file := files[one]) in texts))
        words = rows.read(_text, entry, "text", where) if right else None
        if words is not None:
            questions.append(Question(identity, without_marks(words).strip(), documents=right))
        elif not right:
            rows.leave_out(f"{identity}: no entry with words has a positive score for it")
    for identity in sorted(judged):
        rows.leave_out(f"{identity}: the qrels judge it, and queries.jsonl lacks it")
    return rows.imported(texts, questions)


def _beir_corpus(path: Path, rows: "_Rows") -> tuple[dict[str, str], dict[str, str]]:
    """(id to file name, file name to text); an entry without words has no text."""
    names = _Names()
    files: dict[str, str] = {}
    texts: dict[str, str] = {}
    for where, entry in rows.of_lines(path):
        identity = rows.read(_name, entry, "_id", where)
        if identity is None:
            continue
        if identity in files:
            rows.leave_out(f"{where}: the _id {identity} is given twice; the first entry counts")
            continue
        files[identity] = names.new(identity)
        parts = (entry.get("title") or "", entry.get("text") or "")
        if not all(isinstance(part, str) for part in parts):
            rows.leave_out(f"{where}: title and text must be text")
        elif words := "\n\n".join(stripped for part in parts if (stripped := without_marks(part).strip())):
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


def _qrels(path: Path, known: Mapping[str, str], rows: "_Rows") -> dict[str, list[str]]:
    """Query to the ids of its relevant entries; [] for one that has none with a positive score."""
    judged: dict[str, list[str]] = {}
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if not line.strip() or (number == 1 and line.startswith("query-id")):
            continue
        cells = line.rstrip("\r").split("\t")
        if len(cells) != 3 or not re.fullmatch(r"[+-]?\d+", cells[2].strip()):
            if number > 1:  # else a header of other words
                rows.leave_out(
                    f"{path.name}, line {number}: expected query-id, corpus-id and a whole score, tabs between"
                )
            continue
        if cells[1] not in known:
            rows.leave_out(f"{path.name}, line {number}: the corpus has no {cells[1]}")
            continue
        relevant = judged.setdefault(cells[0], [])
        if int(cells[2]) > 0:
            relevant.append(cells[1])
    return judged


# FinanceBench


def read_financebench(path: Path, split: str = "", documents: Path | None = None) -> Imported:
    """The PDFs are looked for in `documents`, else in the folder `pdfs` beside the file or one above.

    Raises `UsageError` with the PDFs that are not there.
    """
    folder = documents or next(
        (one / "pdfs" for one in path.resolve().parents[:2] if (one / "pdfs").is_dir()), path.parent / "pdfs"
    )
    files: dict[str, str | Path] = {}
    questions: list[Question] = []
    rows = _Rows()
    for where, entry in rows.of_lines(path):
        question = rows.read(_financebench_question, entry, where)
        if question is not None and rows.is_new(question.id):
            files[question.document] = folder / question.document
            questions.append(question)
    if lost := sorted(str(name) for name, file in files.items() if not Path(file).is_file()):
        raise UsageError(
            f"{folder} lacks {len(lost):,} of {counted(len(files), 'document')}, such as {lost[0]}: fetch the "
            "PDFs of the data set and name their folder with --source-documents"
        )
    return rows.imported(files, questions)


def _financebench_question(entry: Mapping[str, Any], where: str) -> Question:
    """Raises `UsageError` for one that can't be judged by pages of one document."""
    identity = str(_value(entry, "financebench_id", where))
    evidence = [_evidence(one, entry, where) for one in _list(entry, "evidence", where)]
    names = sorted({name for name, _ in evidence})
    if len(names) != 1:
        count = f"lies in {counted(len(names), 'document')}" if names else "is missing"
        raise UsageError(f"{identity}: its evidence {count}, and pages are judged in one")
    pages = tuple(sorted({page for _, page in evidence}))
    kind = str(entry.get("question_type") or "")
    question = without_marks(_text(entry, "question", where)).strip()
    return Question(identity, question, document=names[0], kind=kind, pages=pages)


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


def without_marks(text: str) -> str:
    """Without U+FEFF, which extraction leaves out and BM25 does not see."""
    return text.replace("\ufeff", "")


class _Rows:
    """What is left out of a set, in order."""

    def __init__(self) -> None:
        self._left_out: list[str] = []
        self._ids: set[str] = set()

    def leave_out(self, why: str) -> None:
        self._left_out.append(why)

    def read(self, reader: Callable[..., T], *given: Any) -> T | None:
        """What `reader` reads; None where it raises `UsageError`, which is kept."""
        try:
            return reader(*given)
        except UsageError as error:
            self.leave_out(str(error))
            return None

    def is_new(self, identity: str) -> bool:
        """Whether this question id was not met before; one that was is left out."""
        if identity in self._ids:
            self.leave_out(f"{identity}: the id is given twice; the first question counts")
            return False
        self._ids.add(identity)
        return True

    def of_lines(self, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        """(file and line for messages, the object) of each line of JSON that is not empty."""
        for number, line in enumerate(_read(path).split("\n"), start=1):
            if line.strip():
                where = f"{path.name}, line {number}"
                value = self.read(_object, line, where)
                if value is not None:
                    yield where, value

    def imported(self, documents: Mapping[str, str | Path], questions: Sequence[Question]) -> Imported:
        return Imported(documents, tuple(questions), tuple(self._left_out))


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{where}: no JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{where}: no JSON object")
    return value


def _value(value: Any, key: str, where: str) -> Any:
    if not isinstance(value, dict) or key not in value:
        raise UsageError(f"{where} has no {key}")
    return value[key]


def _text(value: Any, key: str, where: str) -> str:
    found = _value(value, key, where)
    if not isinstance(found, str) or not found.strip():
        raise UsageError(f"{where}: {key} is {found!r}, expected text")
    return found


def _name(value: Any, key: str, where: str) -> str:
    """A text or a whole number: ids are both."""
    found = _value(value, key, where)
    return str(found) if type(found) is int else _text(value, key, where)


def _list(value: Any, key: str, where: str) -> list[Any]:
    found = _value(value, key, where)
    if not isinstance(found, list):
        raise UsageError(f"{where}: {key} is no list")
    return found


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
