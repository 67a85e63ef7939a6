"""Plain text: the canonical text is the file, its paragraphs and underlined titles are the blocks."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.text.plain import extract_plain, paragraphs


def read(text: str, folder: Path, name: str = "a.txt") -> Extraction:
    (folder / name).write_bytes(text.encode())
    return extract_plain(folder / name, Settings(), lambda page: None)


def pieces(extraction: Extraction) -> list[tuple[str, str]]:
    return [(block.kind, extraction.text[block.start : block.end]) for block in extraction.blocks]


def test_blank_lines_separate_paragraphs(tmp_path: Path) -> None:
    extraction = read("\n  one\ntwo  \n \t\n\nthree", tmp_path)
    assert extraction.text == "\n  one\ntwo  \n \t\n\nthree"
    assert pieces(extraction) == [("paragraph", "one\ntwo"), ("paragraph", "three")]


def test_crlf_is_counted_as_one_character(tmp_path: Path) -> None:
    extraction = read("one\r\n\r\ntwo\rthree", tmp_path)
    assert extraction.text == "one\n\ntwo\nthree"
    assert pieces(extraction) == [("paragraph", "one"), ("paragraph", "two\nthree")]


def test_underlined_titles_are_headings_with_the_level_of_their_rule(tmp_path: Path) -> None:
    text = "Hall 2\n======\n\nwords\n\nMonday\n------\n\nmore\n\nWeek 15\n=======\n\nend"
    extraction = read(text, tmp_path)
    headings = [(block.level, block.title) for block in extraction.blocks if block.kind == "heading"]
    assert headings == [(1, "Hall 2"), (2, "Monday"), (1, "Week 15")]
    assert extraction.title == "Hall 2"


@pytest.mark.parametrize(
    "text",
    [
        "Part   Price\n------------\nseal   63.00",
        "word\n" + "-" * 70,
        "=====\n-----",
        "first\nsecond\n------",
    ],
)
def test_a_rule_in_a_table_or_across_the_page_makes_no_heading(text: str, tmp_path: Path) -> None:
    assert all(block.kind == "paragraph" for block in read(text, tmp_path).blocks)


def test_source_text_is_code_and_keeps_its_indentation(tmp_path: Path) -> None:
    extraction = read("# not a heading\n\n    return 1\n", tmp_path, "a.py")
    assert pieces(extraction) == [("code", "# not a heading"), ("code", "    return 1")]


@given(
    st.text(st.sampled_from("ab \t\n\x0c\u2028é泵😀="), max_size=60), st.sampled_from(["code", "paragraph"])
)
def test_blocks_hold_every_visible_character_once_and_in_order(text: str, kind: str) -> None:
    blocks = list(paragraphs(text, 0, len(text), "code" if kind == "code" else "paragraph"))
    held = "".join(text[block.start : block.end] for block in blocks)
    assert "".join(held.split()) == "".join(text.split())
    assert all(first.end < second.start for first, second in pairwise(blocks))
