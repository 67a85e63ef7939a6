"""What an evaluation of 1,000 questions costs beside the embedding of its questions, in one run.

python -m benchmarks.evaluation      one minute; prints CPU seconds and the ratio, which has to stay under 1.5

Thirteen documents of 360,000 characters in all, as the founding corpus had, are indexed first.
"""

import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.corpus import write_markdown
from pincite.encoders.models import resolve_model
from pincite.evaluation.evaluate import evaluate
from pincite.evaluation.rebuild import embedder_of
from pincite.schemas.evaluation import Question, QuestionSet
from pincite.schemas.settings import Settings
from pincite.storage.snapshots.index import Index

DOCUMENTS = 13
PARAGRAPHS = 60
QUESTIONS = 1_000
REPEATS = 3
_SENTENCE = re.compile(r"[A-Z][a-z ]+ (\d+)\.")


def make_index(folder: Path) -> tuple[Path, QuestionSet]:
    """An index of the documents and as many questions on sentences that stand in them once."""
    source, index = folder / "source", folder / "index"
    source.mkdir()
    for number in range(DOCUMENTS):
        write_markdown(source / f"{number:02}.md", random.Random(number), PARAGRAPHS)
    subprocess.run(
        [sys.executable, "-m", "pincite", "index", str(source), "--index", str(index)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return index, _questions(index)


def _questions(index: Path) -> QuestionSet:
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        texts = [row for one in snapshot.of_kind("texts") for row in snapshot.rows(one)["text"].to_pylist()]
        rows = snapshot.chunks(["chunk_id"]).num_rows
    found = [match for text in texts for match in _SENTENCE.finditer(text)]
    drawn = random.Random(7).sample(found, QUESTIONS * 9 // 10)
    print(f"{sum(map(len, texts)):,} characters, {rows} chunks, {len(found):,} sentences")
    asked = [
        Question(f"q{number}", f"What is said of {' '.join(match[0].lower().split()[1:7])}?", match[0])
        for number, match in enumerate(drawn)
    ]
    none = [
        Question(f"n{number}", f"Who won the cup of the year {1_000 + number}?", kind="off-topic")
        for number in range(QUESTIONS - len(asked))
    ]
    return QuestionSet("benchmark", "0" * 64, (*asked, *none))


def cpu_s(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main() -> None:
    settings = Settings()
    embedder = embedder_of(resolve_model(settings.model))
    with tempfile.TemporaryDirectory(prefix="pincite-benchmark-") as folder:
        index, questions = make_index(Path(folder))
        asked = [one.question for one in questions.questions]
        embedder.embed_queries(asked[:50])
        with Index.open(index) as opened:
            costs = [
                (
                    cpu_s(lambda: embedder.embed_queries(asked)),
                    cpu_s(lambda: evaluate(opened, settings, questions)),
                )
                for _ in range(REPEATS)
            ]
    embedding, whole = (statistics.median(one) for one in zip(*costs, strict=True))
    ratios = sorted(after / before for before, after in costs)
    print(f"embedding of {len(asked):,} questions {embedding:.2f} CPU s, whole evaluation {whole:.2f} CPU s")
    print(f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}, n = {REPEATS})")


if __name__ == "__main__":
    main()
