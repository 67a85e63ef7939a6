"""Chunks for a model: its window counts only where it can read the text."""

import numpy as np

from pincite.encoders.models import resolve_model
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.records import Extraction, Prepared
from pincite.schemas.settings import DEFAULT_MODEL
from pincite.tasks.chunking.by_model import chunks_for_model
from pincite.tasks.chunking.cascade import TARGET
from pincite.tasks.steps.publish import check_invariants

PIECES = WordPieces(resolve_model(DEFAULT_MODEL))
RUSSIAN = (
    "Паром отходил от северного причала каждое утро, и смотритель записывал в журнал имя капитана. " * 12
)


def extraction(text: str) -> Extraction:
    return Extraction(text, "", "text/plain", "plain", "1")


def test_what_the_model_can_not_read_is_cut_by_characters() -> None:
    made = chunks_for_model(extraction(RUSSIAN), "", "structural", PIECES)
    assert made.unfit and len(made.chunks) == -(-len(RUSSIAN.strip()) // TARGET)
    assert [one.over_window for one in made.chunks] == [one.tokens > 256 for one in made.chunks]
    assert any(one.over_window for one in made.chunks)


def test_what_it_reads_never_exceeds_its_window() -> None:
    made = chunks_for_model(extraction("Word by word the text goes on. " * 90), "", "structural", PIECES)
    assert not made.unfit and not any(one.over_window for one in made.chunks)


def test_a_document_that_it_can_not_read_may_be_published() -> None:
    made = chunks_for_model(extraction(RUSSIAN), "", "structural", PIECES)
    prepared = Prepared(extraction(RUSSIAN), made.chunks, ({},) * len(made.chunks), encoder_fit=False)
    check_invariants(prepared, np.eye(384, dtype=np.float32)[: len(made.chunks)], 384, whole=True)
