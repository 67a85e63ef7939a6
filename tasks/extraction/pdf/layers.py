"""Layers of a PDF (optional content, ISO 32000-1, 8.11): which of them are off, and which an object belongs to."""

import ctypes
import io
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pikepdf
from pypdfium2 import raw

MOST_NAME = 512  # bytes of a name


class Layers:
    """The layers of one file; read when one is first met on a page, since few files have any."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @cached_property
    def off(self) -> frozenset[bytes]:
        """Names of those that a viewer does not show when it opens the file. Of a file that qpdf can't read, none."""
        try:
            with pikepdf.open(io.BytesIO(self._data)) as pdf:
                return frozenset(_off(pdf.Root.get("/OCProperties", pikepdf.Dictionary())))
        except (pikepdf.PdfError, RuntimeError, ValueError, TypeError):
            return frozenset()


def _off(properties: Any) -> Iterator[bytes]:
    settings = properties.get("/D", pikepdf.Dictionary())
    groups = list(properties.get("/OCGs", []))
    on = {group.objgen for group in settings.get("/ON", [])}
    off = {group.objgen for group in settings.get("/OFF", [])}
    base_off = str(settings.get("/BaseState", "/ON")) == "/OFF"
    for group in groups:
        if group.objgen in off or (base_off and group.objgen not in on):
            yield bytes(group.get("/Name", b""))


def optional_layers(page_object: Any) -> list[bytes]:
    """Names of the layers that an object stands on, innermost last; most stand on none."""
    found = []
    for index in range(max(0, raw.FPDFPageObj_CountMarks(page_object))):
        mark = raw.FPDFPageObj_GetMark(page_object, index)
        buffer, length = ctypes.create_string_buffer(MOST_NAME), ctypes.c_ulong(0)
        if not raw.FPDFPageObjMark_GetName(mark, _as_utf16(buffer), MOST_NAME, length):
            continue
        if buffer.raw[: length.value] != _OC:
            continue
        # The bytes as they stand: as text pdfium takes them for UTF-8, which they seldom are.
        kept = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ubyte))
        if raw.FPDFPageObjMark_GetParamBlobValue(mark, b"Name", kept, MOST_NAME, length):
            found.append(buffer.raw[: length.value])
    return found


_OC = "OC\0".encode("utf-16-le")


def _as_utf16(buffer: Any) -> Any:
    return ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
