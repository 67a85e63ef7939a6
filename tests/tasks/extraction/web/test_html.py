"""HTML: what a reader sees, in order, with headings and tables as Markdown."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.schemas.errors import LimitExceeded, Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.text_builder import TextBuilder
from pincite.tasks.extraction.extract import check_extraction
from pincite.tasks.extraction.web.html import append_html, decode_html, extract_html
from tests.tasks.extracted import check_offsets, codes, message


def read(body: str, folder: Path, settings: Settings | None = None, name: str = "a.html") -> Extraction:
    (folder / name).write_bytes(body.encode())
    extraction = extract_html(folder / name, settings or Settings(), lambda page: None)
    check_extraction(extraction)
    return extraction


def text_of(body: str) -> str:
    builder = TextBuilder()
    append_html(body, builder)
    return builder.extraction("", "text/html").text


def test_blocks_follow_the_page(tmp_path: Path) -> None:
    extraction = read(
        "<title>T &amp; U</title><h1>One</h1><p>first<p>second<br>line<h3>Two</h3>"
        "<pre>\n# x\n  y\n\nz</pre><ul><li>a</ul><table><tr><th>A<th>B<tr><td>1<td>2</table>",
        tmp_path,
    )
    check_offsets(extraction)
    assert extraction.title == "T & U"
    assert [(block.kind, block.level, block.title) for block in extraction.blocks] == [
        ("heading", 1, "One"),
        ("paragraph", 0, ""),
        ("paragraph", 0, ""),
        ("heading", 3, "Two"),
        ("code", 0, ""),
        ("list", 0, ""),
        ("table", 0, ""),
    ]
    assert extraction.text == (
        "# One\n\nfirst\n\nsecond\nline\n\n### Two\n\n# x\n  y\n\nz\n\n- a\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"
    )


def test_the_first_heading_is_the_title_of_a_page_without_one(tmp_path: Path) -> None:
    assert read("<p>x<h2>Two</h2><h1>One <i>1</i></h1><h1>Other</h1>", tmp_path).title == "One 1"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("a &lt;b&gt; &amp;amp; &copy; &#x41;&#66; &nosuch; & c", "a <b> &amp; © AB &nosuch; & c"),
        ("a < b and b > c", "a < b and b > c"),
        ("pa<b>r</b>t<i>s</i> of <a href=x>one</a> word", "parts of one word"),
        ("H<sub>2</sub>O\n\n   two\tspaces&nbsp;here", "H₂O two spaces here"),
        ("Donau&shy;dampf<wbr>schiff", "Donaudampfschiff"),
        ("<q>said</q>", "“said”"),
        ("<div>one</div>two<div>three</div>", "one\n\ntwo\n\nthree"),
        ("see <img src=x alt='the pump'> here", "see the pump here"),
        ("<figure><img alt='a'><figcaption>Fig. 1</figcaption></figure>", "a\n\nFig. 1"),
        ("<label>Name <input value='Okonkwo'><input type=hidden value=h></label>", "Name Okonkwo"),
        ("<details><summary>More</summary>inside</details>", "More\n\ninside"),
        ("<p>x</p></body></html>after the end", "x\n\nafter the end"),
        ("<title>T</title><main>in <b>main</b></main>", "in main"),
        ("<meta name=a content=b><link rel=x><base href=x><article>words</article>", "words"),
        ("<table>stray<tr><td>a<td>b</table>", "stray\n\na\n\nb"),
        ("<svg><title>no</title><text>one</text><text>two</text></svg>", "one\ntwo"),
    ],
)
def test_the_visible_words_of(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<ol start=3><li>c<li>d</ol>", "3. c\n\n4. d"),
        ("<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>", "- a\n  - b\n    1. c\n\n- d"),
        ("<ul><li>a<pre>x\ny</pre>b</ul>c", "- a\n\nx\ny\n\nb\n\nc"),
        ("<dl><dt>T<dd>D<dd>E<dt>U<dd>F</dl>", "T\nD\nE\n\nU\nF"),
        ("<li>alone", "alone"),
    ],
)
def test_lists_keep_their_marks_and_depth(body: str, text: str) -> None:
    assert text_of(body) == text


def table_of(body: str) -> list[list[str]]:
    lines = text_of(f"<table>{body}</table>").split("\n")
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in (lines[0], *lines[2:])]


def test_spanned_cells_are_placed_and_a_zero_stays() -> None:
    assert table_of("<tr><th>a<th>b<th>c<tr><td rowspan=2>1<td colspan=2>2<tr><td>0<td>4") == [
        ["a", "b", "c"],
        ["1", "2", ""],
        ["", "0", "4"],
    ]


def test_two_header_rows_become_one() -> None:
    head = "<thead><tr><th rowspan=2>Part<th colspan=2>Size<tr><th>mm<th>in</thead>"
    assert table_of(f"{head}<tr><td>ring<td>70<td>2.8")[0] == ["Part", "Size mm", "Size in"]


def test_a_foot_is_read_last_and_a_bar_is_escaped() -> None:
    rows = table_of("<tfoot><tr><td>sum<td>3</tfoot><tr><th>a<th>b<tr><td>x|y<td>3")
    assert rows == [["a", "b"], ["x\\|y", "3"], ["sum", "3"]]


def test_a_caption_stands_before_its_table_and_the_header_row_repeats(tmp_path: Path) -> None:
    extraction = read("<table><caption>Parts</caption><tr><th>a<th>b<tr><td>1<td>2</table>", tmp_path)
    assert extraction.text.startswith("Parts\n\n| a | b |")
    assert extraction.blocks[1].repeat == "| a | b |"


def test_a_table_that_lays_out_the_page_is_read_cell_by_cell() -> None:
    body = "<table><tr><td><h2>Left</h2>one<td><table><tr><th>a<th>b<tr><td>1<td>2</table></table>"
    assert text_of(body) == "## Left\n\none\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_a_hostile_span_costs_nothing() -> None:
    body = "<table>" + "<tr><td colspan=999999999 rowspan=999999999>a<td>b" * 50 + "</table>"
    assert text_of(body).count("a") == 50


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>secret</p>",
        "<p style='display: none'>secret</p>",
        "<p style='color:red;VISIBILITY:hidden'>secret</p>",
        "<p style='font-size:0'>secret</p>",
        "<p style='opacity: 0.0;'>secret</p>",
        "<p style='font-size:1px'>secret</p>",
        "<p style='position:absolute;left:-9999px'>secret</p>",
        "<p class='a x'>secret</p>",
        "<p id=y>secret</p>",
        "<blink>secret</blink>",
        "<dialog>secret</dialog>",
        "<table><tr><th>a<th>b<tr hidden><td>secret<td>1</table>",
        "<h2>Head <span hidden>secret</span></h2>",
    ],
)
def test_hidden_text_is_left_out_with_a_warning_unless_it_is_asked_for(hidden: str, tmp_path: Path) -> None:
    body = (
        f"<style>/* .p{{}} */ .x, #y {{display:none}} blink{{visibility:hidden}}</style><p>shown</p>{hidden}"
    )
    extraction = read(body, tmp_path)
    assert "secret" not in extraction.text and "shown" in extraction.text
    assert "1 hidden" in message(extraction, "hidden-text") and "secret" in message(extraction, "hidden-text")
    asked = read(body, tmp_path, Settings(include_hidden_text=True))
    assert "secret" in asked.text and codes(asked) == []


@pytest.mark.parametrize(
    "shown",
    [
        "<p style='display:block'>word</p>",
        "<p style='font-size:0.8em;opacity:0.5'>word</p>",
        "<p aria-hidden=true>word</p>",
        "<p style='font-size:10px;text-indent:-10px'>word</p>",
        "<p class=print>word</p>",
        "<p class=wide>word</p>",
        "<main>word</main>",
        "<div><template shadowrootmode=open>word</template></div>",
        "<dialog open>word</dialog>",
    ],
)
def test_text_that_only_seems_hidden_stays(shown: str, tmp_path: Path) -> None:
    sheet = (
        "@media print { .print {display:none} } .wide {display:none} "
        "@media (min-width: 9em) { .wide {display:block} } "
        "main {opacity:0}"
    )
    extraction = read(f"<style>{sheet}</style>{shown}", tmp_path)
    assert extraction.text == "word" and extraction.warnings == ()


def own_words(extraction: Extraction) -> list[str]:
    return [extraction.text[one.start : one.end] for one in extraction.blocks if one.kind != "boilerplate"]


def test_the_site_around_the_page_is_boilerplate_with_a_warning(tmp_path: Path) -> None:
    source = (
        "<header>Logo</header><nav>Home</nav><main><header>Kicker</header>Words<aside>Box</aside></main>"
        "<div role=navigation>More</div><footer>Imprint</footer>"
    )
    extraction = read(source, tmp_path)
    assert extraction.text == "Logo\n\nHome\n\nKicker\n\nWords\n\nBox\n\nMore\n\nImprint"
    assert own_words(extraction) == ["Kicker", "Words", "Box"]
    assert message(extraction, "boilerplate").startswith(
        "4 blocks of the site around the page (19 characters)"
    )
    everything = read(source, tmp_path, Settings(rank_boilerplate=True))
    assert own_words(everything) == everything.text.split("\n\n") and codes(everything) == []


ARTICLE = "".join(
    f"<p>Paragraph {n} of the article tells of pump {n}, its seal and its bearing at length.</p>"
    for n in range(9)
)


def test_link_lists_and_notes_on_cookies_around_an_article_are_boilerplate(tmp_path: Path) -> None:
    links = "".join(f"<li><a href=/{n}>Another story number {n}</a>" for n in range(9))
    source = (
        f"<title>T</title><div class=menu><ul>{links}</ul></div><article><h1>Pumps</h1>{ARTICLE}"
        "<table><tr><th>Part<th>Torque<tr><td>Seal<td>45 Nm</table></article>"
        f"<div class=cookie-consent><p>We use cookies.</p></div><h3>Read on</h3><ul>{links}</ul>"
    )
    own = own_words(read(source, tmp_path))
    assert own[0] == "# Pumps" and own[-1].startswith("| Part | Torque |")
    assert len(own) == 11


def test_a_page_of_links_alone_is_the_pages_own(tmp_path: Path) -> None:
    extraction = read("<nav><ul><li><a href=a>Pump</a><li><a href=b>Seal</a></ul></nav>", tmp_path)
    assert own_words(extraction) == ["- Pump", "- Seal"]


def test_the_words_of_a_manual_are_never_boilerplate(tmp_path: Path) -> None:
    rows = "".join(f"<tr><td>ERR-{n}<td>Fault number {n}</tr>" for n in range(40))
    table = f"<table><tr><th>Code<th>Meaning</tr>{rows}</table>"
    source = f"<h1>Codes</h1><p>All codes.</p>{table}<pre>pump --reset</pre>"
    assert codes(read(source, tmp_path)) == []


def test_a_header_with_the_only_title_and_a_page_without_main_part_stay_whole(tmp_path: Path) -> None:
    extraction = read("<header><h1>Title</h1></header><article>Words</article>", tmp_path)
    assert extraction.text == "# Title\n\nWords" and extraction.warnings == ()
    assert read("<header>a</header>b<footer>c</footer>", tmp_path).text == "a\n\nb\n\nc"


def test_scripts_and_styles_are_no_text_and_embedded_pages_are_named(tmp_path: Path) -> None:
    extraction = read(
        "<script>var a='</p>'</script><style>p{}</style><template>t</template><!-- c -->words"
        "<iframe src='http://example.org/x'>fallback</iframe>",
        tmp_path,
    )
    assert extraction.text == "words"
    assert "iframe http://example.org/x" in message(extraction, "not-followed")


def test_a_page_that_only_a_script_fills_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no text"):
        read("<title>App</title><div id=root></div><noscript>Turn it on</noscript>", tmp_path)


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("<meta charset='windows-1251'>", "cp1251"),
        ("<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", "koi8-r"),
        ("<?xml version='1.0' encoding='iso-8859-5'?>", "iso8859-5"),
        ("<meta charset=windows-1251>", "utf-8"),
    ],
)
def test_the_encoding_is_the_one_declared_unless_the_bytes_are_utf8(head: str, encoding: str) -> None:
    source, warnings = decode_html(f"{head}<p>Насос стоїть".encode(encoding, errors="replace"))
    assert "Насос сто" in source and warnings == ()


def test_xhtml_means_what_xml_says(tmp_path: Path) -> None:
    body = (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>'
        '<script src="x"/></head><body><p>a&nbsp;b &eacute;</p><p><![CDATA[1 < 2]]></p></body></html>'
    )
    assert read(body, tmp_path, name="a.xhtml").text == "a b é\n\n1 < 2"


def test_an_entity_that_expands_without_end_is_not_expanded(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n} "&e{n - 1};&e{n - 1};">' for n in range(1, 40))
    body = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e0 "x">{entities}]><html><p>words &e39;</p></html>'
    assert len(read(body, tmp_path).text) < 10_000


def test_nesting_is_read_to_the_parsers_depth_and_refused_beyond(tmp_path: Path) -> None:
    assert read("<div>" * 1500 + "deep", tmp_path).text == "deep"
    assert read("<ul><li>" * 400 + "deep", tmp_path).text.strip(" -") == "deep"
    with pytest.raises(LimitExceeded, match="2,048"):
        read("<div>" * 3000 + "deep", tmp_path)


# fmt: off
TAGS = [
    "div", "p", "span", "b", "i", "section", "article", "ul", "ol", "li", "table", "tr", "td", "th", "tbody",
    "thead", "h1", "h2", "h3", "pre", "blockquote", "dl", "dt", "dd", "a", "figure", "figcaption", "form",
    "label", "button", "textarea", "sub", "center", "main", "details", "summary", "q", "em", "code", "caption",
    "select", "option", "fieldset", "legend", "address", "object", "svg", "math", "foo", "main",
]
# fmt: on


def page(chance: random.Random, depth: int, words: list[str]) -> str:
    """A page of any nesting, right or wrong, some ends missing; every word in it is visible."""
    parts = []
    for _ in range(chance.randint(1, 4)):
        if depth == 0 or chance.random() < 0.45:
            words.append(f"w{len(words)}x")
            parts.append(words[-1] + chance.choice([" ", "\n", " &amp; ", "<br>", "<!-- -->"]))
        else:
            tag = chance.choice(TAGS)
            end = f"</{tag}>" if chance.random() < 0.9 else ""
            parts.append(f"<{tag}>{page(chance, depth - 1, words)}{end}")
    return "".join(parts)


@given(st.integers(0, 2**32))
def test_every_visible_word_of_any_page_is_kept_once(seed: int) -> None:
    words: list[str] = []
    source = page(random.Random(seed), 5, words)
    text = text_of(source)
    # A header cell over several columns is repeated in each, and only there.
    often = len(words) + 20 if "<th" in source else 1
    assert all(1 <= text.count(word) <= often for word in words)


@pytest.mark.parametrize(
    ("cells", "row"),
    [
        ("<td>Seal<td><ul><li>drain<li>replace</ul><td>45 Nm", "| Seal | drain; replace | 45 Nm |"),
        ("<td>Seal<td><h4>Steps</h4>drain<td>45 Nm", "| Seal | Steps drain | 45 Nm |"),
        ("<td>Seal<td><pre>pump --drain</pre><td>45 Nm", "| Seal | pump --drain | 45 Nm |"),
    ],
)
def test_a_table_with_lists_headings_or_code_in_its_cells_stays_a_table(cells: str, row: str) -> None:
    header, rule = "| Part | Steps | Torque |", "| --- | --- | --- |"
    assert text_of(f"<table><tr><th>Part<th>Steps<th>Torque<tr>{cells}</table>") == f"{header}\n{rule}\n{row}"
    plain = text_of(f"<table><tr><td>Part<td>Steps<td>Torque<tr>{cells}</table>")
    assert plain == f"{header}\n{rule}\n{row}"


def test_a_page_laid_out_by_a_table_is_a_flow_of_text() -> None:
    long = "A sentence of the page. " * 40
    page = f"<table><tr><td><ul><li>home</ul><td><h2>News</h2><p>{long}</table>"
    assert text_of(page).startswith("- home\n\n## News\n\nA sentence")


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("<tbody><tr><td rowspan=9>A<td>1<tr><td>2<tbody><tr><td>C<td>3", ["| A | 1 |", "|  | 2 |", "| C | 3 |"]),
        ("<tbody><tr><td rowspan=0>A<td>1<tr><td>2<tr><td>3<tbody><tr><td>C<td>4",
         ["| A | 1 |", "|  | 2 |", "|  | 3 |", "| C | 4 |"]),
        ("<tr><td rowspan=0>A<td>1<tr><td>2<tfoot><tr><td>C<td>3", ["| A | 1 |", "|  | 2 |", "| C | 3 |"]),
    ],
)  # fmt: skip
def test_a_row_span_ends_with_its_group_of_rows(body: str, rows: list[str]) -> None:
    table = text_of(f"<table><thead><tr><th>G<th>N</thead>{body}</table>").split("\n")
    assert table == ["| G | N |", "| --- | --- |", *rows]
