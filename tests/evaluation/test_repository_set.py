"""The repository's own questions, checked on the texts that its samples and docs have today."""

from pathlib import Path

import pytest

from pincite.encoders.models import resolve_model
from pincite.encoders.wordpieces import WordPieces
from pincite.evaluation.checking import check
from pincite.evaluation.questions import read_questions
from pincite.schemas.errors import DocumentError, Failure
from pincite.schemas.records import Collection, Prepared
from pincite.schemas.settings import DEFAULT_MODEL, Settings
from pincite.storage.runs.commit import fail, lease, publish
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.segments.arrow_rows import Finished
from pincite.storage.snapshots.index import Index
from pincite.tasks.chunking.chunk import chunk
from pincite.tasks.discover import discover
from pincite.tasks.extraction.extract import extract
from pincite.tasks.steps.prepare import document_title
from tests.storage.building import POLICY, SPACE, unit_vectors

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples and docs as the pipeline reads and cuts them; vectors are random, they play no part here."""
    path = tmp_path_factory.mktemp("own") / "index"
    for folder in (ROOT / "samples" / "documents", ROOT / "docs"):
        with Index.create(path, SPACE) as opened, begin_run(opened, "reindex", str(folder)) as run:
            texts = Collection(folder.name, str(folder), exclude=("screenshots/",))
            for document_id in discover(run, POLICY, texts).pending:
                job = lease(run, document_id, POLICY, 600)
                assert job is not None
                try:
                    one = prepare(Path(job.absolute))
                except DocumentError as error:  # the samples that are broken on purpose
                    assert fail(run, job, Failure("extract", error.kind, str(error)))
                    continue
                publish(run, [Finished(job, job.path, one, unit_vectors(len(one.chunks), 0))], POLICY)
            finish_run(run)
    return path


def prepare(path: Path) -> Prepared:
    extraction = extract(path, Settings(), lambda _page: None)
    title = document_title(extraction, path.name)
    words = WordPieces(resolve_model(DEFAULT_MODEL))
    chunks = chunk(extraction, title, "structural", words.count_many, SPACE.window)
    return Prepared(extraction, chunks, tuple({"word": 1} for _ in chunks))


def test_each_needle_stands_once_and_is_no_heading(index: Path) -> None:
    asked = read_questions(ROOT / "samples" / "questions" / "samples-and-docs.jsonl")
    with Index.open(index) as opened:
        assert not check(opened, asked)


def test_the_default_strategy_destroys_no_answer_of_it(index: Path) -> None:
    asked = read_questions(ROOT / "samples" / "questions" / "samples-and-docs.jsonl")
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        contents = snapshot.chunks(["content"])["content"].to_pylist()
    needles = {one.needle for one in asked.questions if one.needle}
    assert not [needle for needle in sorted(needles) if not any(needle in content for content in contents)]
