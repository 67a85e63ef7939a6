"""Books put together from parts, in order and broken."""

import zipfile
from pathlib import Path

import pytest

from pincite.schemas.errors import Encrypted, Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.web.epub import extract_epub
from tests.tasks.extracted import check_offsets, message, places

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PAGE = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head><body>{}</body></html>'


def write(path: Path, pages: dict[str, str], spine: list[str], **parts: str) -> None:
    items = "".join(
        f'<item id="i{number}" href="{name.replace(" ", "%20")}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(pages)
    )
    names = {name: f"i{number}" for number, name in enumerate(pages)}
    order = "".join(f'<itemref idref="{names.get(name, name)}"/>' for name in spine)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr(
            "OEBPS/book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<dc:title>Pumps &amp; valves</dc:title></metadata><manifest>{items}"
            '<item id="pic" href="p.png" media-type="image/png"/></manifest>'
            f"<spine>{order}</spine></package>",
        )
        for name, body in pages.items():
            archive.writestr(f"OEBPS/{name}", body if "html" in body[:60] else PAGE.format(body))
        for name, text in parts.items():
            archive.writestr(f"META-INF/{name}.xml", text)


def read(path: Path) -> Extraction:
    extraction = extract_epub(path, Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction


def test_parts_are_read_in_the_order_of_the_spine(tmp_path: Path) -> None:
    write(
        tmp_path / "a.epub",
        {
            "text/ch 2.xhtml": "<h1>Two</h1><p>second</p>",
            "text/ch1.xhtml": "<h1>One</h1><p>first&nbsp;page</p>",
        },
        ["text/ch1.xhtml", "text/ch 2.xhtml"],
    )
    extraction = read(tmp_path / "a.epub")
    assert extraction.text == "# One\n\nfirst page\n\n# Two\n\nsecond"
    assert extraction.title == "Pumps & valves"
    assert places(extraction) == {
        "OEBPS/text/ch1.xhtml": "# One\n\nfirst page",
        "OEBPS/text/ch 2.xhtml": "# Two\n\nsecond",
    }
    assert "OEBPS/p.png" in message(extraction, "embedded-media")


def test_missing_and_empty_parts_are_named(tmp_path: Path) -> None:
    write(
        tmp_path / "a.epub",
        {"a.xhtml": "<p>words</p>", "empty.xhtml": "<!--html-->"},
        ["a.xhtml", "gone", "empty.xhtml"],
    )
    extraction = read(tmp_path / "a.epub")
    assert extraction.text == "words"
    assert message(extraction, "missing-part").endswith(": gone")


def test_an_entity_bomb_is_harmless(tmp_path: Path) -> None:
    bomb = (
        '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "boom">'
        + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
        + ']><html xmlns="http://www.w3.org/1999/xhtml"><body><p>words &j;</p></body></html>'
    )
    write(tmp_path / "a.epub", {"a.xhtml": bomb}, ["a.xhtml"])
    assert len(read(tmp_path / "a.epub").text) < 1000


def test_a_file_outside_the_book_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret words")
    page = (
        f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>words &x;</p></body></html>'
    )
    write(tmp_path / "a.epub", {"a.xhtml": page}, ["a.xhtml"])
    assert "secret" not in read(tmp_path / "a.epub").text


def encryption(algorithm: str) -> str:
    return (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
        f'<e:EncryptedData><e:EncryptionMethod Algorithm="{algorithm}"/>'
        '<e:CipherData><e:CipherReference URI="OEBPS/a.xhtml"/></e:CipherData></e:EncryptedData></encryption>'
    )


def test_a_locked_book_is_encrypted_and_scrambled_fonts_are_not(tmp_path: Path) -> None:
    pages = {"a.xhtml": "<p>words</p>"}
    write(
        tmp_path / "a.epub",
        pages,
        ["a.xhtml"],
        encryption=encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc"),
    )
    with pytest.raises(Encrypted, match="DRM"):
        read(tmp_path / "a.epub")
    write(
        tmp_path / "b.epub", pages, ["a.xhtml"], encryption=encryption("http://www.idpf.org/2008/embedding")
    )
    assert read(tmp_path / "b.epub").text == "words"


def test_a_book_without_a_spine_is_unreadable(tmp_path: Path) -> None:
    write(tmp_path / "a.epub", {"a.xhtml": "<p>words</p>"}, [])
    with pytest.raises(Unreadable, match="spine"):
        read(tmp_path / "a.epub")
