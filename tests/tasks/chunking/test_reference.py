import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given

from pincite.encoders.models import resolve_model
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.errors import UsageError
from pincite.schemas.settings import DEFAULT_MODEL
from pincite.tasks.chunking.chunk import STRATEGIES, chunk
from pincite.tasks.chunking.reference import JS_SPACE, RECIPES, boundary_cuts
from tests.tasks.chunking.documents import BODY, document

GOLDEN = json.loads((Path(__file__).parent / "goldens/reference_e.json").read_text(encoding="utf-8"))
COUNT = WordPieces(resolve_model(DEFAULT_MODEL)).count_many
PROSE = "\n\n".join(f"Paragraph {n} says that number {n} is good. " * (n % 9 + 1) for n in range(40))
TWO_SECTIONS = f"Dropped.\n\n## First\n\n{PROSE}\n\n## Second\n\nShort."


def chunks_of(text: str, strategy: str, title: str = "Title", window: int = 256):
    return chunk(document(text), title, strategy, COUNT, window)


@pytest.mark.parametrize("case", GOLDEN, ids=range(len(GOLDEN)))
def test_e_cuts_as_the_founding_function_does(case):
    """Made from the founding TypeScript by tests/tasks/goldens/make_reference.py."""
    text, title, target, expected = case
    text = "".join("\ue000" if character > "\uffff" else character for character in text)
    cuts = [
        [cut.start, cut.end, f"[{cut.header}]\n{text[cut.start : cut.end]}", cut.section]
        for cut in boundary_cuts(text, title, target)
    ]
    assert cuts == expected


def test_the_goldens_meet_what_matters():
    texts = "".join(case[0] for case in GOLDEN)
    assert all(mark in texts for mark in ("\r\n", "\ufeff", "\x85", "\x1c", "\u2028", "😀", "```\n## code"))
    assert sum(len(case[3]) for case in GOLDEN) > 150


def test_a_cuts_every_512_characters_and_trims_nothing():
    text = " " * 600 + "x" * 1000 + " " * 1000
    chunks = chunks_of(text, "A")
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(512, 1024), (1024, 1536), (1536, 2048)]
    assert chunks[0].content == " " * 88 + "x" * 424
    assert all(chunk.text == chunk.content and chunk.header == "" for chunk in chunks)


def test_b_copies_the_last_64_characters_of_the_chunk_before():
    text = "".join(chr(ord("a") + n % 26) for n in range(1500))
    first, second, third = chunks_of(text, "B")
    assert first.text == text[:512]
    assert second.text == text[448:1024]
    assert third.text == text[960:]
    assert [chunk.content for chunk in (first, second, third)] == [text[:512], text[512:1024], text[1024:]]


def test_c_has_the_cuts_of_e_without_header():
    with_header, without = chunks_of(TWO_SECTIONS, "E"), chunks_of(TWO_SECTIONS, "C")
    assert [(chunk.start, chunk.end) for chunk in with_header] == [
        (chunk.start, chunk.end) for chunk in without
    ]
    assert all(chunk.text == chunk.content for chunk in without)
    assert with_header[-1].text == "[Title > Second]\nShort."
    assert "Dropped." not in "".join(chunk.content for chunk in with_header)


@pytest.mark.parametrize("strategy", ["D", "F"])
def test_overlap_stands_after_the_header_and_before_the_content(strategy):
    chunks = chunks_of(TWO_SECTIONS, strategy)
    assert len(chunks) > 5
    for before, after in pairwise(chunks):
        assert before.end < after.start  # a blank line lies between
        header = f"[{after.header}]\n" if strategy == "F" else ""
        assert after.text == f"{header}{before.content[-64:]}\n{after.content}"
    assert chunks[0].text.endswith(chunks[0].content)
    assert len(chunks[0].text) == len(chunks[0].content) + (
        len("[Title > First]\n") if strategy == "F" else 0
    )


def test_overlap_of_a_short_chunk_is_all_of_it():
    text = "tiny." + " " * 507 + "x" * 10
    assert chunks_of(text, "B")[1].text == text[448:]
    long = f"## H\n\nTiny.\n\n{'A sentence of a long paragraph. ' * 20}"
    assert chunks_of(long, "D")[1].text.startswith("Tiny.\nA sentence")


def test_a_chunk_over_the_window_is_flagged():
    chunks = chunks_of("中" * 700, "E")
    assert [(chunk.tokens, chunk.over_window) for chunk in chunks] == [(705, True)]
    assert [chunk.over_window for chunk in chunks_of("word " * 400, "A", window=100)] == [True] * 3 + [False]
    assert not any(chunk.over_window for chunk in chunks_of("word " * 400, "A"))


@given(BODY)
def test_every_reference_chunk_slices_back(text):
    for strategy in RECIPES:
        chunks = chunks_of(text, strategy)
        assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
        assert [chunk.tokens for chunk in chunks] == COUNT([chunk.text for chunk in chunks])
        for before, after in pairwise(chunks):
            assert before.end <= after.start
        for piece in chunks:
            assert text[piece.start : piece.end] == piece.content
            assert piece.content.strip(JS_SPACE if RECIPES[strategy].boundaries else None)


@given(BODY)
def test_blind_strategies_lose_only_white_space(text):
    kept = "".join(chunk.content for chunk in chunks_of(text, "A"))
    assert "".join(kept.split()) == "".join(text.split())


def test_an_unknown_strategy_names_all():
    with pytest.raises(UsageError, match=r"unknown chunking strategy 'G'.*structural, A, B, C, D, E, F"):
        chunks_of("text", "G")
    assert STRATEGIES == ("structural", "A", "B", "C", "D", "E", "F")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("text", ["", " \n\t\r\n\u3000"])
def test_white_space_alone_gives_no_chunks(strategy, text):
    assert chunks_of(text, strategy) == ()
