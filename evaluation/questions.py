"""Question sets: JSON lines, one question each.

{"question": "What does ERR-4042 mean?", "needle": "ERR-4042 is dry running.", "document": "codes.html"}
{"question": "Who won the cup?", "kind": "off-topic"}

No needle (nor pages, chunk_ids or documents) means that the question must be refused.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Question, QuestionSet

_FIELDS = {field.name: field for field in fields(Question)}
_LISTS = {"needles": str, "pages": int, "chunk_ids": str, "documents": str}


def read_questions(path: Path) -> QuestionSet:
    """The set in a file. Raises `UsageError` that names every faulty line with what is wrong with it."""
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"can't read the questions {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the questions {path} are not UTF-8: {error}") from error
    questions: list[Question] = []
    faults: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            questions.append(_question(json.loads(line), str(number)))
        except ValueError as error:
            faults.append(f"line {number}: {error}")
    faults += _repeated(questions)
    if not questions and not faults:
        faults.append("there is no question in it")
    if faults:
        raise UsageError(f"the questions {path} can't be used: {'; '.join(faults)}")
    return QuestionSet(path.stem, hashlib.sha256(data).hexdigest(), tuple(questions))


def lines_of(questions: Iterable[Question]) -> Iterator[str]:
    """Each question as one line of JSON, without its empty fields."""
    for question in questions:
        yield json.dumps({key: value for key, value in asdict(question).items() if value}, ensure_ascii=False)


def _question(value: Any, default_id: str) -> Question:
    """Raises `ValueError` with what is wrong."""
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    if unknown := sorted(value.keys() - _FIELDS):
        raise ValueError(f"unknown keys {', '.join(unknown)}; known are {', '.join(_FIELDS)}")
    read: dict[str, Any] = {"id": default_id}
    for key, given in value.items():
        if key in _LISTS:
            if not isinstance(given, list) or not all(type(one) is _LISTS[key] for one in given):
                raise ValueError(f"{key} is no list of {_LISTS[key].__name__}")
            read[key] = tuple(given)
        elif isinstance(given, str):
            read[key] = given
        elif given is not None:
            raise ValueError(f"{key} is no text")
    if not read.get("question", "").strip():
        raise ValueError("it has no question")
    if read.get("pages") and not read.get("document"):
        raise ValueError("it judges by page but names no document")
    read["needle"] = _trimmed(read.get("needle", ""))
    read["needles"] = tuple(one for given in read.get("needles", ()) if (one := _trimmed(given)))
    if read["needles"] and not read["needle"]:
        read["needle"], read["needles"] = read["needles"][0], read["needles"][1:]
    return Question(**read)


def _trimmed(needle: str) -> str:
    """Without what chunks and texts leave out at its ends."""
    return needle.replace("\ufeff", "").strip()


def _repeated(questions: Iterable[Question]) -> list[str]:
    seen: set[str] = set()
    repeated = []
    for question in questions:
        if question.id in seen:
            repeated.append(f"the id {question.id} is given twice")
        seen.add(question.id)
    return repeated
