"""HTML pages: what a reader sees of the page itself, with headings and tables as Markdown.

bytes → encoding → tree → visible elements → blocks
"""

import re
from functools import partial
from html.entities import html5
from pathlib import Path

from lxml import etree

from pincite.schemas.errors import LimitExceeded, Unreadable
from pincite.schemas.records import DocumentWarning, Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.encoding import decode
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.text_builder import TextBuilder, one_line
from pincite.tasks.extraction.web.html_blocks import read_tree
from pincite.tasks.extraction.web.html_boilerplate import main_text
from pincite.tasks.extraction.web.html_visibility import name

MAX_DEPTH = 2048  # libxml2 stops reading there

# In the first 1,024 bytes, HTML Living Standard 4.2.5.4; real pages are later, so four times that.
_DECLARED = re.compile(
    rb"""<meta[^>]+charset\s*=\s*["']?\s*(?P<html>[\w-]+)|<\?xml[^>]+encoding\s*=\s*["'](?P<xml>[\w-]+)""",
    re.I,
)
_XHTML = re.compile(r"\s*(?:<\?xml\b|<!DOCTYPE[^>]+XHTML|<html[^>]+xmlns=)", re.IGNORECASE)
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]*;)")
_XML_ENTITIES = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})
# libxml2 drops what follows the end of body or html; browsers show it.
_END_TAGS = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
# libxml2 turns them into U+FFFD; a browser shows nothing.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ufeff]")


def extract_html(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The page. Title: its `title` element, or its first h1, or "".

    Left out with a warning: hidden elements (unless settings.include_hidden_text). What is of the site around the
    page is boilerplate (unless settings.rank_boilerplate).
    """
    progress(1)
    text, warnings = decode_html(path.read_bytes())
    builder = TextBuilder()
    builder.add_warnings(warnings)
    title = append_html(
        text, builder, settings.include_hidden_text, boilerplate=not settings.rank_boilerplate
    )
    return builder.extraction(title, "text/html")


def decode_html(data: bytes) -> tuple[str, tuple[DocumentWarning, ...]]:
    """The source text, decoded by byte order mark, UTF-8, declaration or guess."""
    declared = _DECLARED.search(data[:4096])
    return decode(data, (declared["html"] or declared["xml"]).decode("ascii") if declared else "")


def append_html(
    source: str, builder: TextBuilder, include_hidden: bool = False, boilerplate: bool = False
) -> str:
    """Appends the blocks of an HTML or XHTML source to `builder`; returns its title, "" when it has none.

    With `boilerplate`, what is of the site around a page is marked as such.
    """
    root = parse_html(source)
    main = partial(main_text, source) if boilerplate else None
    first_heading = read_tree(root, builder, include_hidden, main)
    named = next((title for title in root.iter("title") if _in_head(title)), None)
    return one_line("".join(map(str, named.itertext())) if named is not None else "") or first_heading


def parse_html(source: str) -> etree._Element:
    """The tree, names without namespace. Raises `Unreadable` for a source without any element,
    `LimitExceeded` for one nested too deeply."""
    source = _CONTROLS.sub("", source)
    if _XHTML.match(source) and (root := _parse_xhtml(source)) is not None:
        return root
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(_END_TAGS.sub("", source).encode(), parser)
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"not an HTML page that can be parsed: {error}") from error
    if root is None:
        raise Unreadable("no text: the page has no element")
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        # The tree ends there, so going on would drop the rest of the page without a word.
        raise LimitExceeded(f"elements nested more than {MAX_DEPTH:,} deep, which the HTML parser refuses")
    return root


def _parse_xhtml(source: str) -> etree._Element | None:
    """The tree of well-formed XHTML, where `<title/>` and CDATA mean what XML says; None if it is none."""
    if "<!ENTITY" in source:
        return None
    parser = etree.XMLParser(
        encoding="utf-8",
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
    )
    try:
        root = etree.fromstring(_ENTITY.sub(_named_character, source).encode(), parser)
    except etree.XMLSyntaxError:
        return None
    for element in root.iter(etree.Element):
        element.tag = etree.QName(element).localname.lower()
    return root


def _named_character(match: re.Match[str]) -> str:
    """HTML's named characters, which XML does not know without its DTD."""
    return match[0] if match[1] in _XML_ENTITIES else html5.get(match[1], match[0])


def _in_head(title: etree._Element) -> bool:
    return not any(name(above) == "svg" for above in title.iterancestors())
