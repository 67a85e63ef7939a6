"""EPUB books: the parts of the spine in reading order, each on its place 'entry'. EPUB 3.3; OPF 2.0.1."""

import posixpath
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from pincite.schemas.errors import Encrypted, Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.text_builder import TextBuilder
from pincite.tasks.extraction.base.zip_container import Container, damage_as_unreadable, open_container
from pincite.tasks.extraction.web.html import append_html, decode_html

MEDIA_TYPE = "application/epub+zip"

_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/xml", "text/xml")
_PAGE_SUFFIXES = (".xhtml", ".html", ".htm", ".xml")
# Algorithms that only scramble fonts: EPUB 3.3, 4.4, and Adobe's.
_FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


@dataclass(frozen=True, slots=True)
class _Item:
    part: str  # name in the container
    media_type: str


def extract_epub(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The book's text. Raises `Encrypted` (DRM), `Unreadable` or `LimitExceeded`."""
    progress(1)
    builder = TextBuilder()
    with open_container(path, settings.limits, "EPUB", dtd=True) as container, damage_as_unreadable("EPUB"):
        package_name = _package_name(container)
        package = container.xml(package_name)
        items = _items(package, posixpath.dirname(package_name))
        _refuse_locked(container, {item.part for item in items.values()})
        for number, reference in enumerate(_spine(package), start=1):
            progress(number)
            _append(builder, container, items.get(reference), reference, settings.include_hidden_text)
        for item in items.values():
            if item.media_type.startswith(("image/", "audio/", "video/")):
                builder.name("embedded-media", "pictures and recordings are not read", item.part)
        title = next(
            (found.text or "" for found in package.iter("{http://purl.org/dc/elements/1.1/}title")), ""
        )
    return builder.extraction(title, MEDIA_TYPE)


def _append(
    builder: TextBuilder, container: Container, item: _Item | None, reference: str, include_hidden: bool
) -> None:
    if item is None or item.part not in container:
        builder.name(
            "missing-part", "parts that the book names and does not hold", item.part if item else reference
        )
        return
    if item.media_type not in _PAGES and not item.part.lower().endswith(_PAGE_SUFFIXES):
        builder.name("not-followed", "parts that are no pages, not read", item.part)
        return
    source, warnings = decode_html(container.read(item.part))
    builder.add_warnings(warnings)
    with builder.place("entry", item.part):
        try:
            append_html(source, builder, include_hidden)
        except Unreadable as error:
            builder.name("broken-part", "parts that can't be read", f"{item.part} ({error})")


def _package_name(container: Container) -> str:
    for element in container.xml("META-INF/container.xml").iter():
        if _local(element) == "rootfile" and (name := element.get("full-path")):
            return name
    raise Unreadable("META-INF/container.xml names no package: the book is damaged")


def _items(package: etree._Element, folder: str) -> dict[str, _Item]:
    return {
        element.get("id", ""): _Item(
            posixpath.normpath(posixpath.join(folder, unquote(element.get("href", "").partition("#")[0]))),
            element.get("media-type", ""),
        )
        for element in package.iter()
        if _local(element) == "item"
    }


def _spine(package: etree._Element) -> list[str]:
    """Ids in reading order, those outside the linear order (notes, answers) in their place."""
    spine = [element.get("idref", "") for element in package.iter() if _local(element) == "itemref"]
    if not spine:
        raise Unreadable("the book has no spine, the list of its parts in reading order: it is damaged")
    return list(dict.fromkeys(spine))


def _refuse_locked(container: Container, parts: set[str]) -> None:
    if "META-INF/encryption.xml" not in container:
        return
    for entry in container.xml("META-INF/encryption.xml").iter():
        if _local(entry) != "EncryptedData":
            continue
        method = next(
            (found.get("Algorithm") for found in entry.iter() if _local(found) == "EncryptionMethod"), ""
        )
        target = next((found.get("URI") for found in entry.iter() if _local(found) == "CipherReference"), "")
        if method not in _FONT_ALGORITHMS and unquote(target or "") in parts:
            raise Encrypted("this book is locked to its shop's reader (DRM): index a copy without the lock")


def _local(element: etree._Element) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""
