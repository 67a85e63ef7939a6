"""JSON and JSON lines, whole and broken."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.schemas.errors import LimitExceeded, Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.text.json_records import extract_json
from tests.tasks.extracted import check_offsets, message, places


def read(folder: Path, text: str, name: str = "a.json") -> Extraction:
    path = folder / name
    path.write_bytes(text.encode())
    extraction = extract_json(path, Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction


def test_each_value_is_a_line_on_its_pointer(tmp_path: Path) -> None:
    extraction = read(
        tmp_path, '{"part": {"id": 7, "a/b~c": "x"}, "tags": ["red", null, true], "none": [], "empty": {}}'
    )
    assert extraction.text.splitlines() == [
        "part.id: 7",
        "part.a/b~c: x",
        "tags[0]: red",
        "tags[1]: null",
        "tags[2]: true",
        "none: []",
        "empty: {}",
    ]
    assert places(extraction)["/part/a~1b~0c"] == "part.a/b~c: x"
    assert places(extraction)["/tags/1"] == "tags[1]: null"


def test_records_are_blocks_of_their_own(tmp_path: Path) -> None:
    extraction = read(tmp_path, '[{"name": "Ann", "age": 1}, {"name": "Bo", "age": 2}]')
    assert extraction.text == "name: Ann\nage: 1\n\nname: Bo\nage: 2"
    assert places(extraction)["/1/name"] == "name: Bo"
    extraction = read(tmp_path, '{"title": "People", "rows": [{"n": "Ann"}, {"n": "Bo"}], "end": 1}')
    assert extraction.text == "title: People\n\nrows[0].n: Ann\n\nrows[1].n: Bo\n\nend: 1"
    assert extraction.title == "People"


def test_numbers_and_repeated_keys_stay_as_written(tmp_path: Path) -> None:
    text = read(tmp_path, '{"a": 1.10, "a": 12345678901234567890123, "b": 1e3, "c": -0, "d": NaN}').text
    assert text == "a: 1.10\na: 12345678901234567890123\nb: 1e3\nc: -0\nd: NaN"


def test_a_long_text_keeps_its_paragraphs(tmp_path: Path) -> None:
    extraction = read(tmp_path, json.dumps({"id": 1, "body": "First line\nsecond.\n\nNext.", "z": 2}))
    assert extraction.text == "id: 1\n\nbody: First line\nsecond.\n\nNext.\n\nz: 2"
    assert [place.label for place in extraction.places] == ["/id", "/body", "/body", "/z"]


def test_json_lines_skip_and_name_broken_lines(tmp_path: Path) -> None:
    extraction = read(tmp_path, '{"q": "a"}\n{"q": \n\n{"q": "b"}\n', "a.jsonl")
    assert extraction.text == "q: a\n\nq: b"
    assert list(places(extraction)) == ["/0/q", "/3/q"]
    assert ": 2 (" in message(extraction, "broken-line")


def test_json_lines_under_the_name_json_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, '{"q": "a"}\n{"q": "b"}\n').text == "q: a\n\nq: b"


@pytest.mark.parametrize(
    ("text", "name"), [('{"a": 1', "a.json"), ("nope\nneither\n", "a.jsonl"), ("{}x", "a.json")]
)
def test_what_is_no_json_is_unreadable_with_the_place(tmp_path: Path, text: str, name: str) -> None:
    with pytest.raises(Unreadable, match="line 1"):
        read(tmp_path, text, name)


@pytest.mark.parametrize("depth", [300, 100_000])
def test_deep_nesting_ends_at_a_limit(tmp_path: Path, depth: int) -> None:
    with pytest.raises(LimitExceeded, match="deeper"):
        read(tmp_path, "[" * depth + "1" + "]" * depth)


def test_a_root_value_alone_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, '"just words"').text == "just words"


def test_lone_surrogates_are_replaced_and_named(tmp_path: Path) -> None:
    extraction = read(tmp_path, '{"a": "x\\ud800y"}')
    assert extraction.text == "a: x\ufffdy"
    assert message(extraction, "replaced-characters")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc/~.", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


def resolve(value: object, pointer: str) -> object:
    """RFC 6901, 4."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]  # type: ignore[index]
    return value


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from("xyz"), VALUES, min_size=1))
def test_every_pointer_leads_to_the_value_on_its_line(tmp_path: Path, value: dict[str, object]) -> None:
    extraction = read(tmp_path, json.dumps({"word": "a", **value}))
    for pointer, line in places(extraction).items():
        found = resolve({"word": "a", **value}, pointer)
        assert line.endswith(": " + (found if isinstance(found, str) else json.dumps(found)))
    scalars = sum(1 for _ in leaves({"word": "a", **value}))
    assert len(extraction.places) == scalars


def leaves(value: object) -> list[object]:
    if isinstance(value, dict) and value:
        return [leaf for child in value.values() for leaf in leaves(child)]
    if isinstance(value, list) and value:
        return [leaf for child in value for leaf in leaves(child)]
    return [value]
