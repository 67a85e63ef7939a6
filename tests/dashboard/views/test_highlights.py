"""Marks of a query's words in a passage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.dashboard.views.highlights import _WORDS, Marker, _terms_of
from pincite.encoders.terms import terms
from pincite.schemas.display import escaped

PIECES = (
    *"aB1é -_.'&@/\\+#\n\t,:;<>\"–—’пяक्ष床前ไทยﬁ１İı가½\x00\u200d\u2028\ud800㎏",
    "pump",
    "seals",
    "err-4042",
    "O'Brien",
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def plainly(query: str, content: str) -> str:
    """The marks by their definition: word after word of the whole passage."""
    wanted = {one for one in terms(query) if len(one) > 1 or not one.isascii()}
    html, at = "", 0
    for match in _WORDS.finditer(content):
        html += escaped(content[at : match.start()])
        word = escaped(match.group())
        html += f"<mark>{word}</mark>" if wanted & _terms_of(match.group()) else word
        at = match.end()
    return html + escaped(content[at:])


@given(query=TEXTS, contents=st.lists(TEXTS, max_size=3))
def test_every_word_that_shares_a_term_with_the_query_is_marked(query: str, contents: list[str]) -> None:
    marker = Marker(query)
    for content in [*contents, *contents]:  # what it has met before is marked as at first
        assert marker.marked(content) == plainly(query, content)


@pytest.mark.parametrize(
    ("query", "content", "html"),
    [
        (
            "pump",
            "A pump, two Pumps\nand <pump>.",
            "A <mark>pump</mark>, two Pumps\nand &lt;<mark>pump</mark>&gt;.",
        ),
        ("err4042", "see ERR-4042.", "see <mark>ERR-4042</mark>."),
        ("насос", "Цей насос, і НАСОС", "Цей <mark>насос</mark>, і <mark>НАСОС</mark>"),
        ("故乡", "低头思故乡。", "低头思<mark>故乡</mark>。"),
        ("a b", "a b", "a b"),  # one letter says too little
        ("pump", "\ufdd0pump\ufdd1", "\ufffd<mark>pump</mark>\ufffd"),
        ("pump", "", ""),
    ],
)
def test_marks_in_several_scripts(query: str, content: str, html: str) -> None:
    assert str(Marker(query).marked(content)) == html
