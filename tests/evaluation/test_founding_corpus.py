"""The corpus of the founding measurement is what it was, or says that it is not."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.founding_corpus import READMES, CorpusChanged, description, make_corpus
from pincite.evaluation.occurrences import Needles
from pincite.evaluation.questions import read_questions

QUESTIONS = Path(__file__).resolve().parents[2] / "samples" / "questions" / "founding-measurement.jsonl"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    try:
        make_corpus(folder)
    except CorpusChanged as error:
        pytest.skip(f"{error}")
    return folder


def test_each_needle_stands_once_behind_the_first_section(corpus: Path) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(corpus.iterdir())}
    asked = [question for question in read_questions(QUESTIONS).questions if question.needle]
    finder = Needles(question.needle for question in asked)
    found = [(needle, name, start) for name, text in texts.items() for needle, start in finder.places(text)]
    documents = {question.needle: question.document for question in asked}
    assert len(found) == len(documents) >= 32
    for needle, name, start in found:
        assert documents[needle] == name and start > texts[name].index("\n## ")


def test_the_size_is_that_of_the_founding_corpus(corpus: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in corpus.iterdir()]
    assert len(texts) == 13 and 340_000 < sum(map(len, texts)) < 380_000


def test_another_release_or_text_is_named_and_nothing_is_passed_over(corpus: Path, tmp_path: Path) -> None:
    changed = (
        replace(READMES[0], version="0.0.1"),
        replace(READMES[1], sha256="0" * 64),
        replace(READMES[2], package="no-such-package-of-ours"),
        READMES[3],
    )
    with pytest.raises(CorpusChanged) as raised:
        make_corpus(tmp_path / "corpus", readmes=changed)
    said = str(raised.value)
    assert f"{READMES[0].package} 0.0.1 is not installed" in said
    assert f"{READMES[1].package} {READMES[1].version} has another description" in said
    assert "no-such-package-of-ours" in said and READMES[3].package not in said and "--fetch" in said


def test_the_description_is_what_follows_the_headers() -> None:
    assert (
        description("Name: x\r\nVersion: 1\r\n\r\n\r\n# Title\r\n\r\nText: y\r\n") == "# Title\n\nText: y\n"
    )
