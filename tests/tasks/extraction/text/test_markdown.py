"""Markdown: the canonical text is the source; headings, code, tables and lists are the parser's."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import check_extraction
from pincite.tasks.extraction.text.markdown import extract_markdown, markdown_blocks


def read(text: str, folder: Path) -> Extraction:
    (folder / "a.md").write_bytes(text.encode())
    extraction = extract_markdown(folder / "a.md", Settings(), lambda page: None)
    check_extraction(extraction)
    return extraction


def pieces(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in markdown_blocks(text)]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in markdown_blocks(text) if block.kind == "heading"]


def test_the_canonical_text_is_the_source(tmp_path: Path) -> None:
    source = "# A\r\n\r\none *two* [three](x) &amp; é泵😀\r\n"
    assert read(source, tmp_path).text == source.replace("\r\n", "\n")


def test_headings_carry_level_and_words_without_markup() -> None:
    text = (
        "# One *two* `three` [four](x) ![five](y) &amp; \\#\n\n### Deep ###\n\nSet\next\n===\n\n two\n---\n\n"
        "#no heading\n\n####### seven\n"
    )
    assert headings(text) == [(1, "One two three four five & #"), (3, "Deep"), (1, "Set ext"), (2, "two")]


@pytest.mark.parametrize(
    "text",
    [
        "```\n# a\n## b\n```",
        "~~~ sh\n## b\n~~~",
        "````\n```\n## b\n```\n````",
        "```\n## never closed",
        "para\n\n    ## indented",
        "- item\n\n  ```\n  ## b\n  ```",
        "> ```\n> ## b\n> ```",
        "<pre>\n## b\n</pre>",
        "<!--\n## b\n-->",
        "text\n\\## b",
    ],
)
def test_a_hash_that_is_no_heading_makes_no_section(text: str) -> None:
    assert headings(text) == []


def test_code_is_one_block_with_its_blank_lines_and_fences() -> None:
    text = "before\n```py\na\n\n\nb\n```\nafter\n\n    x\n\n    y\n"
    assert pieces(text) == [
        ("paragraph", "before"),
        ("code", "```py\na\n\n\nb\n```"),
        ("paragraph", "after"),
        ("code", "    x\n\n    y"),
    ]


def test_a_table_knows_its_header_row() -> None:
    text = "| Part | Price |\n|---|---:|\n| seal | 0 |\n\nafter"
    (table, _) = markdown_blocks(text)
    assert (table.kind, table.repeat) == ("table", "| Part | Price |")
    assert text[table.start : table.end].endswith("| seal | 0 |")


def test_each_item_of_a_list_is_a_block_with_its_inner_lists() -> None:
    text = "- one\n  - in\n\n  more\n- two\n\n1. three\n2. four\n"
    assert pieces(text) == [
        ("list", "- one\n  - in\n\n  more"),
        ("list", "- two"),
        ("list", "1. three"),
        ("list", "2. four"),
    ]


def test_what_the_parser_makes_no_block_of_is_kept() -> None:
    text = "[ref]: http://example.org 'T'\n\ntext\n\n***\n\n<div>x</div>\n"
    assert pieces(text) == [
        ("paragraph", "[ref]: http://example.org 'T'"),
        ("paragraph", "text"),
        ("paragraph", "***"),
        ("paragraph", "<div>x</div>"),
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('---\ntitle: "Front"\n---\n\ntext', "Front"),
        ("---\ndate: 1\ntitle: Front: two\n---\n# Head\n", "Head"),
        ("+++\ntitle = 'Front'\n+++\ntext", "Front"),
        ("## Second\n\n# First\n", "First"),
        ("## Second\n", ""),
        ("---\n\ntitle: no front matter\n", ""),
    ],
)
def test_the_title_is_the_first_outermost_heading_or_the_front_matters(
    text: str, title: str, tmp_path: Path
) -> None:
    assert read(text, tmp_path).title == title


def test_front_matter_is_kept_and_no_heading(tmp_path: Path) -> None:
    extraction = read("---\ntitle: A\n# remark\n---\n\n# Head\n", tmp_path)
    first = extraction.blocks[0]
    assert (first.kind, extraction.text[first.start : first.end]) == ("code", "---\ntitle: A\n# remark\n---")
    assert [block.title for block in extraction.blocks if block.kind == "heading"] == ["Head"]


# fmt: off
LINES = st.sampled_from([
    "# a", "## b #", "text", "- item", "  - inner", "1. one", "> quote", "> # q", "```", "~~~", "    code", "\tcode",
    "| a | b |", "|---|---|", "---", "===", "<div>", "</div>", "[r]: x", "\\# e", "***", "<!--", "-->", "+++",
    "é泵😀", "\u00a0", "\x0c", "",
])
# fmt: on


@given(st.lists(LINES, max_size=14))
def test_blocks_hold_every_visible_character_once_and_in_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    blocks = list(markdown_blocks(text))
    held = "".join(text[block.start : block.end] for block in blocks)
    assert "".join(held.split()) == "".join(text.split())
    assert all(first.end <= second.start for first, second in pairwise(blocks))


@pytest.mark.parametrize(
    "text", [">" * 5000 + " x", "- " * 2000 + "x", "[" * 5000, "*a " * 5000, "|" * 5000 + "\n|-|"]
)
def test_hostile_nesting_is_read_in_time(text: str, tmp_path: Path) -> None:
    assert read(text + "\n\nend", tmp_path).text.endswith("end")
