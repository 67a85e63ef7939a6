"""The page of an evaluation: whole in itself, true to its numbers, safe with hostile text, readable on a phone."""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from lxml import etree
from playwright.sync_api import Browser

from pincite.evaluation.report.plots import Bar, Interval, plot
from pincite.evaluation.report.report import html
from pincite.schemas.evaluation import Evaluation
from tests.chromium import chromium
from tests.evaluation.making import empty_evaluation, made_evaluation

VOID = {"meta", "br", "hr", "img", "input", "link"}
EVALUATIONS = {
    "whole": made_evaluation(),
    "without ablations": made_evaluation(chunkers=False),
    "nothing answerable": empty_evaluation(),
    "refusal not measured": replace(made_evaluation(), refusal=(), bluffed=()),
}


class Parsed(HTMLParser):
    """Elements with their attributes, text, and whether every element that opens also closes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module", params=EVALUATIONS)
def evaluation(request: pytest.FixtureRequest) -> Evaluation:
    return EVALUATIONS[request.param]


def test_every_element_closes_and_nothing_comes_from_elsewhere(evaluation: Evaluation) -> None:
    parsed = Parsed(html(evaluation))
    assert not parsed.open
    assert not {tag for tag, _ in parsed.elements} & {"script", "img", "link", "iframe", "object", "form"}
    for _, attributes in parsed.elements:
        assert not {"src", "style"} & attributes.keys() and not any(
            name.startswith("on") for name in attributes
        )
        assert (attributes.get("href") or "#").startswith("#")


def test_the_policy_allows_this_style_sheet_and_nothing_else() -> None:
    page = html(made_evaluation())
    style = page[page.index("<style>") + 7 : page.index("</style>")]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src &#39;none&#39;; style-src &#39;sha256-" + digest.replace("+", "+"))
    assert "url(" not in style and "@import" not in style


def test_the_same_evaluation_gives_the_same_bytes(evaluation: Evaluation) -> None:
    assert html(evaluation) == html(evaluation)


def test_every_plot_has_a_title_a_description_and_its_numbers_in_a_table() -> None:
    evaluation = made_evaluation()
    page = html(evaluation)
    plots = re.findall(r'<svg viewBox="0 0 340 .*?</svg>', page, re.DOTALL)
    assert len(plots) == 4 + 1 + 4 + 2 + 1
    for one in plots:
        root = etree.fromstring(one.encode())
        assert root.get("role") == "img" and root.findtext("title") and root.findtext("desc")
    table = "".join(re.findall(r"<table>.*?</table>", page, re.DOTALL))
    for scores in evaluation.strategies:
        for share in scores.recall.values():
            assert f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]" in table
    for point in evaluation.refusal:
        assert f">{point.removed.answered} of {point.removed.of}<" in table


def test_the_summary_says_what_was_counted() -> None:
    evaluation = made_evaluation()
    page = Parsed(html(evaluation)).text
    share = evaluation.strategies[0].recall[4]
    assert f"for {share.count} of {share.of} questions: {share.value:.0%}" in page
    point = next(point for point in evaluation.refusal if point.threshold == evaluation.threshold)
    bluffs = sum(one.answered for one in point.bluffs)
    assert f"it answers {bluffs} of 40 questions to which the documents have no answer" in page
    assert f"refuses {point.refused} of the 80" in page
    assert "The stage that loses most is “in neither ranking”: 2 of 5." in page
    assert all(finding.words.partition(". ")[0] in page for finding in evaluation.findings)


def test_destroyed_answers_are_said_first_hand() -> None:
    made = made_evaluation()
    blind = next(one for one in made.strategies if one.strategy.name == "A")
    page = html(replace(made, main="A", strategies=(blind,), pairs=(), findings=()))
    assert "8 of 40 answers were cut in two" in page and "No search can find those" in page
    assert "none was cut in two" in html(made)


def test_a_set_without_answers_says_so_and_draws_no_empty_plot() -> None:
    page = html(empty_evaluation())
    assert "No question of the set has an answer" in page and "None" not in Parsed(page).text
    assert page.count('<svg viewBox="0 0 340') == 1, "the bluffs alone"


def test_hostile_text_stays_text() -> None:
    page = html(replace(made_evaluation(), set_name='<img src=x onerror="x">', notes=("<script>x</script>",)))
    assert "<script" not in page and "<img" not in page and "<b>" not in page
    assert "\u202e" not in page and "\\u202e" in page


def test_a_long_name_does_not_run_into_its_figure() -> None:
    drawn = plot("intervals", "x", "y", [Interval("n" * 90, "64% (61 of 96)", 0.64, 0.5, 0.7)])
    (label, figure) = re.findall(r">([^<]+)</text>", drawn)[-2:]
    assert len(label) + len(figure) <= 44 and label.endswith("…")


def test_zero_and_certain_shares_stay_inside_the_plot() -> None:
    rows = [Interval("none", "0%", 0.0, 0.0, 0.1), Interval("all", "100%", 1.0, 0.9, 1.0)]
    for x in re.findall(r' c?x="([-\d.]+)"', plot("intervals", "x", "y", rows)):
        assert 0 <= float(x) <= 340
    assert 'width="0.0"' in plot("bars", "x", "y", [Bar("nothing", 0)])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.mark.parametrize("width", [320, 1280])
def test_a_browser_shows_it_without_a_complaint_and_without_scrolling_sideways(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    (tmp_path / "report.html").write_text(html(made_evaluation()), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: said.append(request.url))
    address = (tmp_path / "report.html").as_uri()
    page.goto(address)
    assert said == [address]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    colour = page.evaluate("getComputedStyle(document.querySelector('.dot.main')).fill")
    assert colour == "rgb(31, 95, 191)", "the style sheet is in force"
    letters = page.evaluate("document.querySelector('svg .label').getBoundingClientRect().height")
    assert letters >= 10
    page.close()
