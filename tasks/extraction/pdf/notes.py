"""What a PDF holds besides its page content: outline, title, form fields, notes, attachments."""

import ctypes
import re
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from pincite.schemas.records import DocumentWarning
from pincite.tasks.extraction.pdf.line_text import clean

MAX_OUTLINE = 10_000  # entries
MAX_NOTES = 2_000  # annotations of one page
MAX_ATTACHMENTS = 1_000

_NOTES = {
    raw.FPDF_ANNOT_TEXT: "Note",
    raw.FPDF_ANNOT_FREETEXT: "",
    raw.FPDF_ANNOT_HIGHLIGHT: "Note",
    raw.FPDF_ANNOT_UNDERLINE: "Note",
    raw.FPDF_ANNOT_SQUIGGLY: "Note",
    raw.FPDF_ANNOT_STRIKEOUT: "Note",
    raw.FPDF_ANNOT_STAMP: "Stamp",
    raw.FPDF_ANNOT_CARET: "Note",
    raw.FPDF_ANNOT_INK: "Note",
    raw.FPDF_ANNOT_SQUARE: "Note",
    raw.FPDF_ANNOT_CIRCLE: "Note",
    raw.FPDF_ANNOT_LINE: "Note",
    raw.FPDF_ANNOT_POLYGON: "Note",
}
_HIDDEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_CHECKABLE = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
# A title that a program made up, not a person.
_NO_TITLE = re.compile(
    r"(untitled.*|unknown|.*\.(docx?|odt|rtf|tex|dvi|indd|qxd|pages|xlsx?|pptx?|pdf|ps|html?)|"
    r"microsoft (word|powerpoint|excel)\b.*|(slide|page|title|document|layout)? ?\d*|\(?anonymous\)?|[\W\d_]*)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    title: str
    level: int  # 1 is the outermost
    page: int  # 1-based; 0 when it points nowhere


def outline(pdf: pdfium.PdfDocument) -> tuple[OutlineEntry, ...]:
    """The bookmarks in order, at most MAX_OUTLINE; entries without a title left out."""
    entries: list[OutlineEntry] = []
    for mark in pdf.get_toc(max_depth=12):
        if len(entries) >= MAX_OUTLINE:
            break
        title = " ".join(clean(mark.get_title() or "").split())
        target = mark.get_dest()
        index = target.get_index() if target else None
        if title:
            entries.append(OutlineEntry(title, mark.level + 1, 0 if index is None else index + 1))
    return tuple(entries)


def metadata_title(pdf: pdfium.PdfDocument) -> str:
    """The title in the document information; "" when there is none or a program made it up."""
    title = " ".join(clean(pdf.get_metadata_value("Title") or "").split())
    return "" if len(title) > 300 or "\ufffd" in title or _NO_TITLE.fullmatch(title) else title


def attachment_warnings(pdf: pdfium.PdfDocument) -> list[DocumentWarning]:
    """A warning that names each attached file; attachments are not followed."""
    count = min(pdf.count_attachments(), MAX_ATTACHMENTS)
    return [
        DocumentWarning(
            "attachment",
            f"attached file {pdf.get_attachment(index).get_name()!r} is not part of the text; save it to the "
            "source folder to index it",
        )
        for index in range(count)
    ]


def page_notes(page: pdfium.PdfPage) -> list[str]:
    """Texts of notes and values of form fields of one page, in file order: "Name: value"."""
    form = page.formenv.raw if page.formenv else None
    notes: list[str] = []
    for index in range(min(max(0, raw.FPDFPage_GetAnnotCount(page)), MAX_NOTES)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            note = _note(annotation, form)
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
        if note and note not in notes:
            notes.append(note)
    return notes


def _note(annotation: Any, form: Any) -> str:
    kind = raw.FPDFAnnot_GetSubtype(annotation)
    if raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
        return ""
    if kind == raw.FPDF_ANNOT_WIDGET:
        return _field(annotation, form) if form else ""
    if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
        return _labelled("Attached file", _string(annotation, b"Contents"))
    if kind not in _NOTES:
        return ""
    return _labelled(_NOTES[kind], _string(annotation, b"Contents"))


def _labelled(label: str, text: str) -> str:
    if not text:
        return ""
    return f"{label}: {text}" if label else text


def _field(annotation: Any, form: Any) -> str:
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    name = _wide(lambda *a: raw.FPDFAnnot_GetFormFieldAlternateName(form, annotation, *a)) or _wide(
        lambda *a: raw.FPDFAnnot_GetFormFieldName(form, annotation, *a)
    )
    if kind in _CHECKABLE:
        if not raw.FPDFAnnot_IsChecked(form, annotation):
            return ""
        value = _wide(lambda *a: raw.FPDFAnnot_GetFormFieldExportValue(form, annotation, *a)) or "yes"
    elif kind in (raw.FPDF_FORMFIELD_PUSHBUTTON, raw.FPDF_FORMFIELD_SIGNATURE):
        return ""
    else:
        value = _wide(lambda *a: raw.FPDFAnnot_GetFormFieldValue(form, annotation, *a))
    return _labelled(name, value)


def _string(annotation: Any, key: bytes) -> str:
    return _wide(lambda *a: raw.FPDFAnnot_GetStringValue(annotation, key, *a))


def _wide(read: Any) -> str:
    """A string that pdfium writes as UTF-16LE into a buffer; the first call asks for its length in bytes."""
    size = read(None, 0)
    if size <= 2 or size > 1 << 20:
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    read(buffer, size)
    text = bytes(buffer)[: size - 2].decode("utf-16-le", "replace")
    return " ".join(clean(text).split())
