"""WebVTT and SubRip as programs write them, and as people break them."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.schemas.errors import Unreadable
from pincite.schemas.locators import place_fragment
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.text.transcript import extract_transcript
from tests.tasks.extracted import check_offsets, codes, message, places


def read(folder: Path, text: str, name: str = "a.vtt") -> Extraction:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    extraction = extract_transcript(path, Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction


def test_each_cue_stands_on_its_time_in_seconds(tmp_path: Path) -> None:
    extraction = read(
        tmp_path,
        "WEBVTT\n\n1\n00:02:12.400 --> 00:02:15.000 align:start position:10%\nThe valve opens\n\n"
        "intro\n02:15.000 --> 02:38.900\nat forty bar.\n",
    )
    assert extraction.text == "The valve opens at forty bar."
    assert places(extraction) == {"132.4,135": "The valve opens", "135,158.9": "at forty bar."}
    assert place_fragment(extraction.places) == "#t=132.4,158.9"


def test_srt_counts_and_commas(tmp_path: Path) -> None:
    extraction = read(
        tmp_path,
        "1\r\n00:00:01,500 --> 00:00:02,000\r\nOne\r\n\r\n2\r\n01:00:00,000 --> 01:00:01,000\r\n2024\r\n",
        "a.srt",
    )
    assert places(extraction) == {"1.5,2": "One", "3600,3601": "2024"}
    assert extraction.text == "One\n\n2024"
    assert extraction.media_type == "application/x-subrip"


def test_speakers_stand_before_their_words_and_markup_is_gone(tmp_path: Path) -> None:
    extraction = read(
        tmp_path,
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud Ann Lee>Is it <b>safe</b>?\n\n"
        "00:02.000 --> 00:03.000\n<v Ann Lee>I mean <c.red>now</c>.</v>\n\n"
        "00:03.000 --> 00:04.000\n<v Bo>Yes &amp; no <00:03.500>&lt;really&gt;.\n",
    )
    assert extraction.text == "Ann Lee: Is it safe? I mean now.\n\nBo: Yes & no <really>."
    assert places(extraction)["1,2"] == "Is it safe?"


def test_two_speakers_in_one_cue_are_both_named(tmp_path: Path) -> None:
    text = read(tmp_path, "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>- Hi\n<v Bo>- Hello\n").text
    assert text == "Ann: - Hi Bo: - Hello"


def test_notes_styles_and_regions_are_left_out(tmp_path: Path) -> None:
    extraction = read(
        tmp_path,
        "WEBVTT - Pump talk\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nREGION\nid:r\n\nNOTE\nfor editors\n\n"
        "00:01.000 --> 00:02.000\nHello\n\nNOTE single line\n",
    )
    assert extraction.text == "Hello"
    assert extraction.title == "Pump talk"


def test_srt_styling_is_removed_and_words_in_angle_brackets_stay(tmp_path: Path) -> None:
    text = '1\n00:00:01,000 --> 00:00:02,000\n{\\an8}<font color="#fff"><i>Run</i></font> <laughs> {index}\n'
    assert read(tmp_path, text, "a.srt").text == "Run <laughs> {index}"


def test_overlapping_cues_are_read_by_their_start(tmp_path: Path) -> None:
    extraction = read(
        tmp_path,
        "WEBVTT\n\n00:05.000 --> 00:07.000\nthird\n\n00:01.000 --> 00:06.000\nfirst\n\n"
        "00:02.000 --> 00:03.000\nsecond\n",
    )
    assert extraction.text == "first second third"
    assert places(extraction) == {"1,6": "first", "2,3": "second", "5,7": "third"}


def test_a_long_silence_begins_a_paragraph(tmp_path: Path) -> None:
    extraction = read(tmp_path, "WEBVTT\n\n00:01.000 --> 00:02.000\nA.\n\n00:20.000 --> 00:21.000\nB.\n")
    assert extraction.text == "A.\n\nB."


def test_rolling_captions_are_read_once(tmp_path: Path) -> None:
    extraction = read(
        tmp_path,
        "WEBVTT\n\n00:00.000 --> 00:02.000\nhello<00:00.500><c> everyone</c>\n\n"
        "00:02.000 --> 00:02.010\nhello everyone\n\n"
        "00:02.010 --> 00:04.000\nhello everyone\nto<00:03.000><c> the show</c>\n",
    )
    assert extraction.text == "hello everyone to the show"
    assert "rolling-captions" in codes(extraction)


def test_words_said_twice_stay_twice(tmp_path: Path) -> None:
    extraction = read(tmp_path, "WEBVTT\n\n00:00.000 --> 00:01.000\nNo.\n\n00:01.000 --> 00:02.000\nNo.\n")
    assert extraction.text == "No. No."


def test_a_blank_line_in_a_cue_and_a_missing_one_between_cues_lose_nothing(tmp_path: Path) -> None:
    extraction = read(
        tmp_path,
        "1\n00:00:01,000 --> 00:00:02,000\nfirst\n\nstill first\n2\n00:00:02,000 --> 00:00:03,000\nsecond\n",
        "a.srt",
    )
    assert places(extraction) == {"1,2": "first still first", "2,3": "second"}


def test_a_cue_without_a_readable_time_keeps_its_words(tmp_path: Path) -> None:
    extraction = read(
        tmp_path, "WEBVTT\n\n00:00.000 --> 00:01.000\nA\n\n00:xx --> later\nB\n\n00:02.000 --> 00:03.000\nC\n"
    )
    assert extraction.text == "A B C"
    assert list(places(extraction)) == ["0,1", "2,3"]
    assert "00:xx --> later" in message(extraction, "broken-cue")


def test_a_file_without_cues_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no cue"):
        read(tmp_path, "WEBVTT\n\nJust words.\n")


WORDS = st.text(
    st.characters(categories=("L", "N", "Po"), exclude_characters="&<>{}-"), min_size=1, max_size=12
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 90), WORDS), min_size=1, max_size=8))
def test_every_word_is_on_the_time_of_a_cue(tmp_path: Path, cues: list[tuple[int, int, str]]) -> None:
    def clock(seconds: int) -> str:
        return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.000"

    body = "\n\n".join(
        f"{clock(start)} --> {clock(start + length)}\nsaid {word}" for start, length, word in cues
    )
    extraction = read(tmp_path, f"WEBVTT\n\n{body}\n")
    found = [(place.label, extraction.text[place.start : place.end]) for place in extraction.places]
    assert sorted(found) == sorted(
        (f"{start},{start + length}", f"said {word}") for start, length, word in cues
    )
