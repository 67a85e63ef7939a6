import base64
import itertools
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.encoders.models import resolve_model
from pincite.encoders.sentences import sentence_cuts
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.records import Block, Extraction
from pincite.schemas.settings import DEFAULT_MODEL
from pincite.storage.runs.invariants import coverage_problems
from pincite.tasks.chunking.chunk import chunk
from pincite.tasks.chunking.sections import LONGEST_TITLE
from pincite.tasks.chunking.structural import structural_chunks
from tests.tasks.chunking.documents import document, documents, markdown, uncovered

WINDOW = 256
COUNT = WordPieces(resolve_model(DEFAULT_MODEL)).count_many
SENTENCE = "This is a sentence of about sixty characters, more or less. "


def chunks_of(extraction, title="Title", count=COUNT, window=WINDOW):
    return chunk(extraction, title, "structural", count, window)


def bytes_of(texts):
    """Word-pieces of a model that reads bytes."""
    return [len(text.encode("utf-8", "surrogatepass")) + 2 for text in texts]


def require_invariants(extraction, chunks, count=COUNT, window=WINDOW):
    assert uncovered(extraction, chunks) == ""
    assert [piece.ordinal for piece in chunks] == list(range(len(chunks)))
    assert [piece.tokens for piece in chunks] == count([piece.text for piece in chunks])
    assert all(before.end <= after.start for before, after in itertools.pairwise(chunks))
    for piece in chunks:
        assert extraction.text[piece.start : piece.end] == piece.content == piece.content.strip() != ""
        assert piece.text == (f"[{piece.header}]\n{piece.content}" if piece.header else piece.content)
        assert piece.tokens <= window
        assert not piece.over_window


@given(documents(), st.sampled_from(["", "Title", "A long title " * 40]))
def test_invariants_hold_for_any_document(extraction, title):
    require_invariants(extraction, chunks_of(extraction, title))


@given(documents(), st.integers(12, 600))
def test_invariants_hold_for_any_window_and_tokenizer(extraction, window):
    chunks = chunks_of(extraction, "A title", bytes_of, window)
    require_invariants(extraction, chunks, bytes_of, window)


@given(documents())
def test_the_same_document_gives_the_same_chunks(extraction):
    assert chunks_of(extraction) == chunks_of(extraction)


@given(documents())
def test_no_chunk_holds_two_sections(extraction):
    """A heading with a body lies in no chunk; so the text of two sections never joins."""
    inside = [
        block
        for block in extraction.blocks
        if block.kind == "heading" and len(extraction.text[block.start : block.end]) <= LONGEST_TITLE
    ]
    filled = [
        heading
        for heading, after in itertools.pairwise([*inside, None])
        if extraction.text[heading.end : after.start if after else None].strip()
    ]
    for piece in chunks_of(extraction):
        assert not any(piece.start < heading.end and heading.start < piece.end for heading in filled)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 2_000,
        "chunk " * 2_000,
        "😀" * 3_000,
        "👩‍👩‍👧" * 900,
        "中文字符" * 1_000,
        "中文字符句子。" * 700,
        "ภาษาไทย" * 900,
        "한국어 문장입니다. " * 500,
        "नमस्ते दुनिया। " * 500,
        base64.b64encode(random.Random(1).randbytes(9_000)).decode(),
        "e\u0301" * 3_000,
        "\u0301" * 5_000,
        "-" * 3_000,
        "½ﷺ" * 1_000,
        "line one\r\n" * 900,
        "0123456789abcdef" * 300,
        "[SEP] [CLS] " * 400,
        "\ud7a3" * 2_000,
        "\x00\x01\x02" * 500 + "x",
    ],
    ids=lambda text: ascii(text[:6]),
)
def test_hostile_texts_stay_in_the_window(text):
    extraction = document(text)
    require_invariants(extraction, chunks_of(extraction))


def test_no_grapheme_is_cut():
    family = "👩‍👩‍👧"
    chunks = chunks_of(document(family * 900))
    assert len(chunks) > 1
    assert all(len(piece.content) % len(family) == 0 for piece in chunks)
    accents = chunks_of(document("e\u0301" * 3_000))
    assert len(accents) > 1
    assert all(piece.content.startswith("e") for piece in accents)


def test_a_line_of_100_kilobytes_takes_linear_time():
    def seconds(length):
        text = base64.b64encode(random.Random(2).randbytes(length)).decode()
        start = time.process_time()
        require_invariants(document(text), chunks_of(document(text)))
        return time.process_time() - start

    seconds(1_000)
    # Ten times the text; of quadratic time it were a hundred. Other work of the machine may spoil one look, not all.
    assert any(seconds(75_000) < 30 * max(seconds(7_500), 0.02) for _ in range(5))


def test_text_before_the_first_heading_is_kept(tmp_path):
    first, second = chunks_of(markdown(tmp_path, "Preamble.\n\n## One\n\nBody.\n"))
    assert (first.content, first.header, first.section) == ("Preamble.", "Title", "")
    assert (second.content, second.header, second.section) == ("Body.", "Title > One", "One")


def test_a_heading_inside_a_fence_is_no_section(tmp_path):
    text = "## One\n\nBefore.\n\n```sh\n## not a heading\n# nor this\n```\n\nAfter.\n"
    chunks = chunks_of(markdown(tmp_path, text))
    assert [piece.section for piece in chunks] == ["One"]
    assert "## not a heading\n# nor this" in chunks[0].content


def test_the_section_path_has_all_levels(tmp_path):
    text = "# A\n\na\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n\nE\n=\n\ne\n"
    chunks = chunks_of(markdown(tmp_path, text))
    assert [(piece.content, piece.section) for piece in chunks] == [
        ("a", "A"),
        ("b", "A > B"),
        ("c", "A > B > C"),
        ("d", "A > D"),
        ("e", "E"),
    ]
    assert chunks[2].text == "[Title > A > B > C]\nc"


def test_a_title_that_is_the_first_heading_is_said_once(tmp_path):
    (piece,) = chunks_of(markdown(tmp_path, "# Guide\n\n## Use\n\nText.\n"), title="Guide")
    assert (piece.header, piece.section) == ("Guide > Use", "Guide > Use")


def test_headings_without_a_body_are_content(tmp_path):
    (piece,) = chunks_of(markdown(tmp_path, "# One\n\n# Two\n\n# Three\n"))
    assert piece.content == "# One\n\n# Two\n\n# Three"
    assert (piece.section, piece.header) == ("", "Title")
    chunks = chunks_of(markdown(tmp_path, "# A\n\n## Empty\n\n## Full\n\nbody\n"))
    assert [(piece.content, piece.section) for piece in chunks] == [("## Empty", "A"), ("body", "A > Full")]


def test_every_heading_is_found_by_its_words(tmp_path):
    text = "# Alpha\n\n## Beta\n\n### Gamma\n\n## Delta\n\ntext\n\n# Epsilon\n"
    said = " ".join(piece.text for piece in chunks_of(markdown(tmp_path, text)))
    assert all(word in said for word in ("Alpha", "Beta", "Gamma", "Delta", "Epsilon"))


def test_paragraphs_that_fit_stay_whole_and_join():
    paragraph = SENTENCE * 3
    text = "\n\n".join([paragraph.strip()] * 6)
    chunks = chunks_of(document(text))
    assert [piece.content.count(paragraph.strip()) for piece in chunks] == [2, 2, 2]


def test_a_long_paragraph_is_cut_at_sentence_ends_into_equal_parts():
    text = (SENTENCE * 10).strip()
    chunks = chunks_of(document(text))
    assert [piece.content.endswith("less.") for piece in chunks] == [True, True]
    assert abs(len(chunks[0].content) - len(chunks[1].content)) < len(SENTENCE)


def test_a_short_line_before_a_long_paragraph_goes_with_it():
    chunks = chunks_of(document("For example:\n\n" + SENTENCE * 10))
    assert chunks[0].content.startswith("For example:\n\nThis")


def test_a_sentence_that_the_window_takes_stays_whole():
    sentence = "A very long sentence of many words " * 18 + "ends here."
    assert len(sentence) > 600
    chunks = chunks_of(document(f"{SENTENCE * 4}{sentence} {SENTENCE * 4}"))
    assert any(sentence in piece.content for piece in chunks)


TABLE = "| Name | Price |\n| --- | --- |\n" + "".join(f"| item number {n} | {n}.50 € |\n" for n in range(120))


def test_a_table_is_cut_between_rows_and_repeats_its_header():
    lead = "Prices:\n\n"
    extraction = document(
        lead + TABLE, Block("paragraph", 0, 8), Block("table", 9, 9 + len(TABLE), repeat="| Name | Price |")
    )
    chunks = chunks_of(extraction)
    require_invariants(extraction, chunks)
    assert len(chunks) > 5
    assert {piece.header for piece in chunks} == {"Title > | Name | Price |"}
    assert chunks[0].content.startswith("Prices:\n\n| Name")
    assert all(piece.content.startswith("|") for piece in chunks[1:])
    assert all(piece.content.endswith("|") for piece in chunks)
    assert all("  " not in piece.header for piece in chunks)


def test_only_a_row_over_the_window_is_cut():
    fits = "| " + "word " * 150 + "|"
    over = "| " + " | ".join(["cell of six words and more"] * 80) + " |"
    table = f"| Head |\n|---|\n{fits}\n{over}\n{fits}"
    extraction = document(table, Block("table", 0, len(table), repeat="| Head |"))
    chunks = chunks_of(extraction)
    require_invariants(extraction, chunks)
    assert sum(piece.content.count(fits) for piece in chunks) == 2
    assert not any(over in piece.content for piece in chunks)
    assert all("| Head |" in piece.header for piece in chunks)


def test_two_tables_never_share_a_chunk_with_two_headers():
    one, two = "| A |\n|---|\n| 1 |", "| B |\n|---|\n| 2 |"
    extraction = document(
        f"{one}\n\n{two}",
        Block("table", 0, len(one), repeat="| A |"),
        Block("table", len(one) + 2, len(one) + 2 + len(two), repeat="| B |"),
    )
    assert [(piece.content, piece.header) for piece in chunks_of(extraction)] == [
        (one, "Title > | A |"),
        (two, "Title > | B |"),
    ]


def test_code_is_cut_between_lines():
    lines = [f"    value_{n} = compute(value_{n - 1}, {n})" for n in range(60)]
    code = "\n".join(["def f():", *lines])
    extraction = document(code, Block("code", 0, len(code)))
    chunks = chunks_of(extraction)
    require_invariants(extraction, chunks)
    assert len(chunks) > 3
    assert all(line.strip() in "\n".join(piece.content for piece in chunks) for line in lines)
    assert all(piece.content.endswith(")") for piece in chunks)


def test_list_items_stay_whole():
    items = [f"- item {n}: " + "with some words in it " * 4 for n in range(30)]
    text = "\n".join(item.strip() for item in items)
    chunks = chunks_of(document(text, Block("list", 0, len(text))))
    assert len(chunks) > 3
    assert all(piece.content.startswith("- item") for piece in chunks)


def test_a_long_header_is_shortened_and_the_section_is_not():
    title, parent, section = "A title of many words " * 30, "Middle part " * 16, "The last section " * 11
    text = "XYtext"
    extraction = document(
        text, Block("heading", 0, 1, 1, parent.strip()), Block("heading", 1, 2, 2, section.strip())
    )
    (piece,) = chunks_of(extraction, title)
    assert piece.section == f"{parent.strip()} > {section.strip()}"
    assert piece.header.startswith("A title of many")
    assert "> … >" in piece.header
    assert "The last section" in piece.header
    assert COUNT([f"[{piece.header}]\n"])[0] - 2 <= WINDOW // 4
    assert piece.content == "text"


def test_a_heading_too_long_for_a_header_is_content():
    heading = "A heading that somebody misused for a whole paragraph. " * 8
    text = f"{heading}\n\nBody."
    chunks = chunks_of(document(text, Block("heading", 0, len(heading), 1, heading.strip())))
    assert "".join(piece.content for piece in chunks).count("misused") == 8
    assert {piece.section for piece in chunks} == {""}


def test_a_heading_over_such_a_one_keeps_it_as_its_body():
    text = f"Head\n{'misused ' * 40}"
    extraction = document(text, Block("heading", 0, 4, 1), Block("heading", 5, len(text), 1))
    assert {piece.section for piece in chunks_of(extraction)} == {"Head"}


def test_a_window_too_small_for_any_header_keeps_the_content():
    (piece,) = chunks_of(document("Some words."), "A title", window=6)
    assert (piece.header, piece.text) == ("", "Some words.")


def test_a_code_point_over_the_window_is_flagged_and_not_lost():
    def count(texts):
        return [2 + 9 * text.count("\ufdfa") + text.count("a") for text in texts]

    chunks = chunk(document("aa\ufdfaaa"), "", "structural", count, 8)
    assert "".join(piece.content for piece in chunks) == "aa\ufdfaaa"
    assert [piece.content for piece in chunks if piece.over_window] == ["\ufdfa"]


def test_halves_that_count_more_together_are_parted():
    def count(texts):
        """A tokenizer for which joined units cost three times what they cost alone."""
        return [2 + len(text) * (3 if " " in text else 1) for text in texts]

    extraction = document("word " * 40)
    require_invariants(extraction, chunk(extraction, "", "structural", count, 30), count, 30)


def test_a_line_break_of_any_system_parts_paragraphs():
    paragraph = (SENTENCE * 5).strip()
    for blank in ("\n\n", "\r\n\r\n", "\n \t\n", "\r\r", "\u2029", "\n\n\n"):
        chunks = chunks_of(document(f"{paragraph}{blank}{paragraph}"))
        assert [piece.content for piece in chunks] == [paragraph, paragraph], ascii(blank)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("we met in may. it was cold and wet outside. nobody came to the house.", 3),
        ("the lease ends in 2020. the company may extend it by five years.", 2),
        ("He sold the bonds. iPhone sales rose by ten per cent that year.", 1),  # in doubt: a short word
        ("He sold all securities. iPhone sales rose by ten per cent that year.", 2),
        ("Use approx. twelve pieces of each of them.", 1),
        ("Siehe insb. die Angaben auf der Seite.", 1),
        ("Am 3. mai kommt er wieder nach Hause.", 1),
        ("He waited... and then he left the house again.", 1),
        ("The lamp (see below.) goes on and on and on.", 1),
    ],
)
def test_a_full_stop_before_a_small_letter_ends_what_reads_as_a_sentence(text, sentences):
    assert len([*sentence_cuts(text, 0, len(text))]) == sentences


def test_lower_case_text_is_cut_at_full_stops_and_not_at_commas():
    clause = (
        "the company paid a dividend of ${} million, which the board had approved in may, after a debate. "
    )
    chunks = chunks_of(document("".join(clause.format(n) for n in range(12))))
    assert len(chunks) > 1 and all(one.content.endswith("debate.") for one in chunks)


def test_boilerplate_is_in_no_chunk_and_parts_what_stands_around_it() -> None:
    text = "First words of the page.\n\nHome | Imprint\n\nLast words of the page."
    blocks = (Block("paragraph", 0, 24), Block("boilerplate", 26, 40), Block("paragraph", 42, 65))
    extraction = Extraction(text, "", "text/html", "html", "1", blocks)
    chunks = structural_chunks(extraction, "T", lambda texts: [len(one.split()) + 2 for one in texts], 256)
    assert [chunk.content for chunk in chunks] == ["First words of the page.", "Last words of the page."]
    assert coverage_problems(text, blocks, chunks) == []
