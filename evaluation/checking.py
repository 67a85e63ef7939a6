"""Whether the ground truth of a question set holds in an index: what fails is named and left out.

A needle must stand exactly once in all live canonical texts, in the document that the set names (or in each of the
copies that it names), and must be no heading: a chunker that copies headings would score by itself, one that leaves
them out could not.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from pincite.evaluation.occurrences import Needles
from pincite.schemas.counting import counted
from pincite.schemas.evaluation import Fault, FaultCode, Question, QuestionSet
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot

_COLUMNS = ("document_id", "text", "blocks", "pages")


_Found = tuple[FaultCode, str] | None
"""Code and reason of a fault."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a needle stands."""

    path: str
    heading: bool  # inside a heading, or over one
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Text:
    """What one live document says, and where its headings and pages are."""

    path: str
    text: str
    headings: tuple[tuple[int, int], ...]  # start, end
    pages: tuple[tuple[int, int, int], ...]  # number, start, end

    def place(self, start: int, end: int) -> _Place:
        return _Place(
            self.path,
            any(low < end and start < high for low, high in self.headings),
            tuple(number for number, low, high in self.pages if low < end and start < high),
        )


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the live texts hold of a question set."""

    places: Mapping[str, Sequence[_Place]]  # of each needle that stands somewhere
    loosely: Mapping[
        str, str
    ]  # needle that stands nowhere to the path where it stands with other white space
    pages: Mapping[str, frozenset[int]]  # of each path
    chunk_ids: frozenset[str]


def check(index: Index, questions: QuestionSet) -> tuple[Fault, ...]:
    """The faults in the order of the set, at the newest version; () when every question can be judged.

    The texts are read once, a document at a time, and once more when a needle stands in none of them.
    """
    with index.held_snapshot() as snapshot:
        return check_snapshot(snapshot, questions)


def check_snapshot(snapshot: Snapshot, questions: QuestionSet) -> tuple[Fault, ...]:
    """As `check`, at the version of a snapshot."""
    stored = _look_up(snapshot, questions.questions)
    found = ((one.id, _fault(one, stored)) for one in questions.questions)
    return tuple(Fault(question_id, *fault) for question_id, fault in found if fault)


def sound(questions: QuestionSet, faults: Iterable[Fault]) -> QuestionSet:
    """The set without the questions that have a fault."""
    faulty = {fault.id for fault in faults}
    return replace(questions, questions=tuple(one for one in questions.questions if one.id not in faulty))


def _look_up(snapshot: Snapshot, questions: Sequence[Question]) -> _Stored:
    needles = {needle for one in questions for needle in (one.needle, *one.needles) if needle}
    places: dict[str, list[_Place]] = {needle: [] for needle in needles}
    pages: dict[str, frozenset[int]] = {}
    finder = Needles(needles)
    for text in _texts(snapshot):
        pages[text.path] = pages.get(text.path, frozenset()) | {number for number, _, _ in text.pages}
        for needle, start in finder.places(text.text):
            places[needle].append(text.place(start, start + len(needle)))
    loosely = _look_up_loosely(snapshot, [needle for needle in needles if not places[needle]])
    wanted = any(one.chunk_ids for one in questions)
    ids = frozenset(snapshot.chunks(["chunk_id"])["chunk_id"].to_pylist()) if wanted else frozenset()
    return _Stored(places, loosely, pages, ids)


def _look_up_loosely(snapshot: Snapshot, needles: Sequence[str]) -> dict[str, str]:
    """Each needle that stands somewhere when white space is disregarded, with the first such path."""
    squeezed: dict[str, list[str]] = {}
    for needle in needles:
        if words := " ".join(needle.split()):
            squeezed.setdefault(words, []).append(needle)
    finder, found = Needles(squeezed), dict[str, str]()
    for text in _texts(snapshot) if squeezed else ():
        for words, _ in finder.places(" ".join(text.text.split())):
            for needle in squeezed[words]:
                found[needle] = min(text.path, found.get(needle, text.path))
    return found


def _texts(snapshot: Snapshot) -> Iterator[_Text]:
    paths = {document.document_id: document.path for document in snapshot.documents()}
    for segment in snapshot.of_kind("texts"):
        for batch in snapshot.rows(segment, _COLUMNS).to_batches(max_chunksize=1):
            for row in batch.to_pylist():
                yield _Text(
                    paths[row["document_id"]],
                    row["text"],
                    tuple(
                        (block["start"], block["end"])
                        for block in row["blocks"]
                        if block["kind"] == "heading"
                    ),
                    tuple((page["number"], page["start"], page["end"]) for page in row["pages"]),
                )


def _fault(question: Question, stored: _Stored) -> _Found:
    if question.document and question.document not in stored.pages:
        near = get_close_matches(question.document, sorted(stored.pages), n=1)
        meant = f"; did you mean {near[0]}?" if near else ": it is not indexed, or its extraction failed"
        return "no-document", f"no document {question.document} can be found{meant}"
    if lost := sorted(set(question.chunk_ids) - stored.chunk_ids):
        return (
            "no-chunk",
            f"there is no chunk {', '.join(lost)}: ids change with every revision of a document",
        )
    if unknown := sorted(set(question.documents) - stored.pages.keys()):
        return (
            "no-document",
            f"no document {', '.join(unknown)} can be found: index it, or take it off the question",
        )
    if lost_pages := sorted(set(question.pages) - stored.pages.get(question.document, frozenset())):
        return "no-page", f"{question.document} has no page {', '.join(map(str, lost_pages))}"
    return _needle_fault(question, stored) if question.needle else None


def _needle_fault(question: Question, stored: _Stored) -> _Found:
    if lost := [one for one in question.needles if not stored.places[one]]:
        return "not-in-text", f"the further expected sentence {lost[0][:40]!r} is in no stored text"
    places = stored.places[question.needle]
    if len(places) == 1 or (places and {one.path for one in places} <= set(question.documents)):
        return _misplaced(question, places[0])
    if places:
        where = ", ".join(f"{path} ({n})" for path, n in sorted(Counter(one.path for one in places).items()))
        return (
            "repeated",
            f"the expected sentence stands {counted(len(places), 'time')}: {where}; "
            "take a longer one that stands once",
        )
    if near := stored.loosely.get(question.needle):
        return (
            "not-in-text",
            f"the expected sentence stands in {near} with other white space: copy it from the stored text",
        )
    return (
        "not-in-text",
        'the expected sentence is in no stored text: copy it from `pincite sql "SELECT text FROM texts"`',
    )


def _misplaced(question: Question, place: _Place) -> _Found:
    if question.document and place.path != question.document:
        return "no-document", f"the expected sentence stands in {place.path}, not in {question.document}"
    if place.heading:
        return (
            "heading",
            f"the expected sentence is a heading of {place.path}, or runs over one: take a sentence of the text",
        )
    if question.pages and not set(place.pages) & set(question.pages):
        return (
            "no-page",
            f"the expected sentence stands on page {', '.join(map(str, place.pages))}, the question names others",
        )
    return None
