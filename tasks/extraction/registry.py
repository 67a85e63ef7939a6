"""The table of formats: a row for each says all that the rest of Pincite knows of it.

A new format is a module with its extractor, a row here, and tests of it (docs/plugins.md). Packages add rows of their
own by the entry point `pincite.extractors`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from pincite.schemas.errors import UsageError
from pincite.schemas.plugins import EXTRACTORS, installed, load, not_of_kind, package_of
from pincite.tasks.extraction.base.signs import Sign, is_late_pdf, is_mail

_OURS = "pincite.tasks.extraction."


@dataclass(frozen=True, slots=True)
class Format:
    """One row. Nothing of the extractor is imported before a file of the format is read."""

    name: str  # what users call it
    extractor: str  # "package.module:function", an `Extractor`
    suffixes: tuple[str, ...] = ()  # in lower case
    version: str = (
        ""  # stamped on each document; {name} stands for the release of a parser that decides the text
    )
    parsers: tuple[str, ...] = ()  # packages: another release of one makes a failed document worth an attempt
    textual: bool = False  # any text is a valid file of it: content can't prove the suffix wrong
    pages: bool = False  # the extractor takes a `sketch` and shows its pages to it
    signs: tuple[Sign, ...] = ()  # by which its files are known without their suffix


# fmt: off
_PLAIN_SUFFIXES = (
    ".txt", ".text", ".rst", ".adoc", ".org", ".tex", ".log", ".diff", ".patch", ".bib", ".po",
    ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".properties", ".xml", ".xsd",
    ".sql", ".graphql", ".proto",
    ".py", ".pyi", ".r", ".jl", ".rb", ".pl", ".lua", ".sh", ".bash", ".zsh", ".ps1", ".bat",
    ".js", ".mjs", ".ts", ".tsx", ".jsx", ".css", ".scss", ".vue",
    ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".java", ".kt", ".scala", ".go", ".rs", ".swift", ".php", ".m",
    ".hs", ".ml", ".clj", ".ex", ".erl", ".f90", ".asm", ".tf", ".mk", ".cmake", ".gradle",
)
# fmt: on

_FORMATS: dict[str, Format] = {
    "pdf": Format(
        "PDF",
        f"{_OURS}pdf.reader:extract_pdf",
        (".pdf",),
        version="4 pdfium-{pdfium}",
        parsers=("pdfplumber", "pikepdf", "pypdfium2", "pillow", "pytesseract", "tesseract"),
        pages=True,
        signs=(Sign("a PDF", rb"%PDF-\d"), Sign("a PDF", test=is_late_pdf)),
    ),
    "image": Format(
        "image",
        f"{_OURS}image:extract_image",
        (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif"),
        version="2 tesseract-{tesseract} pillow-{pillow}",
        parsers=("pytesseract",),
        pages=True,
        signs=(
            Sign("a PNG image", rb"\x89PNG\r\n\x1a\n"),
            Sign("a JPEG image", rb"\xff\xd8\xff"),
            Sign("a TIFF image", rb"II\*\x00|MM\x00\*|II\+\x00|MM\x00\+"),
            Sign("a GIF image", rb"GIF8[79]a"),
            Sign("a WebP image", rb"RIFF.{4}WEBP"),
            # "BM" alone begins many an English text: the four reserved bytes decide.
            Sign("a BMP image", rb"BM.{4}\x00{4}"),
        ),
    ),
    "docx": Format(
        "Word",
        f"{_OURS}pictured_office:extract_docx",
        (".docx", ".docm", ".dotx"),
        version="3",
        parsers=("python-docx", "lxml", "pytesseract"),
        signs=(Sign("a Word document", part="word/document.xml"),),
    ),
    "pptx": Format(
        "PowerPoint",
        f"{_OURS}pictured_office:extract_pptx",
        (".pptx", ".pptm", ".ppsx", ".potx"),
        version="3",
        parsers=("python-pptx", "lxml", "pytesseract"),
        signs=(Sign("a PowerPoint presentation", part="ppt/presentation.xml"),),
    ),
    "xlsx": Format(
        "Excel",
        f"{_OURS}office.spreadsheet:extract_xlsx",
        (".xlsx", ".xlsm", ".xltx"),
        version="2",
        parsers=("openpyxl", "lxml"),
        signs=(Sign("an Excel workbook", part="xl/workbook.xml"),),
    ),
    "ods": Format(
        "OpenDocument spreadsheet",
        f"{_OURS}office.spreadsheet:extract_ods",
        (".ods",),
        version="2",
        parsers=("lxml",),
        signs=(
            Sign("an OpenDocument spreadsheet", mimetype=b"application/vnd.oasis.opendocument.spreadsheet"),
        ),
    ),
    "epub": Format(
        "EPUB",
        f"{_OURS}web.epub:extract_epub",
        (".epub",),
        version="2",
        parsers=("lxml",),
        signs=(Sign("an EPUB book", part="META-INF/container.xml"),),
    ),
    "delimited": Format(
        "delimited text",
        f"{_OURS}text.delimited:extract_delimited",
        (".csv", ".tsv"),
        version="2",
        parsers=("chardet",),
        textual=True,
    ),
    "transcript": Format(
        "transcript",
        f"{_OURS}text.transcript:extract_transcript",
        (".vtt", ".srt"),
        version="2",
        parsers=("chardet",),
        textual=True,
        signs=(Sign("a WebVTT transcript", rb"(\xef\xbb\xbf)?WEBVTT[ \t\r\n]", binary=False),),
    ),
    "email": Format(
        "e-mail",
        f"{_OURS}mail:extract_email",
        (".eml",),
        version="2",
        parsers=("chardet", "lxml"),
        textual=True,
        signs=(Sign("an e-mail message", test=is_mail, binary=False),),
    ),
    "mbox": Format(
        "mail folder",
        f"{_OURS}mail:extract_mbox",
        (".mbox", ".mbx"),
        version="2",
        parsers=("chardet", "lxml"),
        textual=True,
    ),
    "msg": Format(
        "Outlook message",
        f"{_OURS}mail:extract_msg",
        (".msg",),
        version="2",
        parsers=("python-oxmsg", "chardet", "lxml"),
        # [MS-OXMSG] 2.4: every Outlook message has this stream.
        signs=(Sign("an Outlook message", stream="__properties_version1.0"),),
    ),
    "doc": Format(
        "Word of before 2007",
        f"{_OURS}old_office:extract_doc",
        (".doc", ".dot"),
        version="1 {libreoffice}",
        parsers=("python-docx", "lxml"),
        signs=(Sign("a Word document of before 2007", stream="WordDocument"),),
    ),
    "ppt": Format(
        "PowerPoint of before 2007",
        f"{_OURS}old_office:extract_ppt",
        (".ppt", ".pps", ".pot"),
        version="1 {libreoffice}",
        parsers=("python-pptx", "lxml"),
        signs=(Sign("a PowerPoint presentation of before 2007", stream="PowerPoint Document"),),
    ),
    "xls": Format(
        "Excel of before 2007",
        f"{_OURS}old_office:extract_xls",
        (".xls", ".xlt"),
        version="1 {libreoffice}",
        parsers=("xlrd", "openpyxl", "lxml"),
        signs=(
            Sign("an Excel workbook of before 2007", stream="Workbook\0"),
            Sign("an Excel workbook of before 1997", stream="Book\0"),
        ),
    ),
    "rtf": Format(
        "Rich Text",
        f"{_OURS}old_office:extract_rtf",
        (".rtf",),
        version="1 {libreoffice}",
        parsers=("striprtf", "python-docx", "lxml"),
        signs=(Sign("a Rich Text document", rb"\s{0,9}\{\\rtf", binary=False),),
    ),
    "odt": Format(
        "OpenDocument text",
        f"{_OURS}office.odf_document:extract_odt",
        (".odt", ".ott"),
        version="1",
        parsers=("lxml",),
        signs=(Sign("an OpenDocument text", mimetype=b"application/vnd.oasis.opendocument.text"),),
    ),
    "odp": Format(
        "OpenDocument presentation",
        f"{_OURS}office.odf_document:extract_odp",
        (".odp", ".otp", ".odg"),
        version="1",
        parsers=("lxml",),
        signs=(
            Sign("an OpenDocument presentation", mimetype=b"application/vnd.oasis.opendocument.presentation"),
            Sign("an OpenDocument drawing", mimetype=b"application/vnd.oasis.opendocument.graphics"),
        ),
    ),
    "notebook": Format(
        "notebook",
        f"{_OURS}text.notebook:extract_notebook",
        (".ipynb",),
        version="1",
        parsers=("chardet",),
        textual=True,
    ),
    "zip": Format(
        "ZIP archive",
        f"{_OURS}archive:extract_zip",
        (".zip",),
        version="1",
    ),
    "json": Format(
        "JSON",
        f"{_OURS}text.json_records:extract_json",
        (".json", ".jsonl", ".ndjson"),
        version="2",
        parsers=("chardet",),
        textual=True,
    ),
    "html": Format(
        "HTML",
        f"{_OURS}web.html:extract_html",
        (".html", ".htm", ".xhtml"),
        version="3 lxml {lxml} trafilatura {trafilatura}",
        parsers=("chardet",),
        textual=True,
        signs=(
            Sign(
                "an HTML page",
                rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(?i:<!doctype\s+html|<html\b)",
                binary=False,
            ),
        ),
    ),
    "markdown": Format(
        "Markdown",
        f"{_OURS}text.markdown:extract_markdown",
        (".md", ".markdown"),
        version="2 markdown-it-py {markdown-it-py}",
        parsers=("chardet",),
        textual=True,
    ),
    "plain": Format(
        "plain text",
        f"{_OURS}text.plain:extract_plain",
        _PLAIN_SUFFIXES,
        version="2",
        parsers=("chardet",),
        textual=True,
    ),
}


@cache
def formats() -> Mapping[str, Format]:
    """All rows by key, the name of the extractor in the ledger: the product's, then those of plug-ins.

    Raises `UsageError` for a plug-in that can't be loaded or that takes a key or another plug-in's suffix.
    """
    rows = dict(_FORMATS)
    for name, point in installed(EXTRACTORS).items():
        registered = load(EXTRACTORS, name)
        if not isinstance(registered, Format):
            if not callable(registered):
                raise not_of_kind(EXTRACTORS, name, registered, "a Format nor an extractor")
            registered = Format(name, point.value)
        if name in _FORMATS:
            raise UsageError(
                f"{package_of(point)} registers the extractor {name}, which is one of Pincite's own"
            )
        if not registered.version:
            registered = replace(registered, version=point.dist.version if point.dist else "1")
        rows[name] = registered
    _suffixes(rows)
    return MappingProxyType(rows)


def key_of(suffix: str) -> str:
    """The key of the row that reads files of this suffix, "" where none does. A plug-in comes before the product."""
    return _known_suffixes().get(suffix, "")


@cache
def _known_suffixes() -> Mapping[str, str]:
    return _suffixes(formats())


def _suffixes(rows: Mapping[str, Format]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for key, row in rows.items():
        for suffix in row.suffixes:
            other = found.get(suffix, key)
            if other != key and other not in _FORMATS:
                raise UsageError(f"two plug-ins read {suffix}: {other} and {key}. Uninstall one of them")
            found[suffix] = key
    return found
