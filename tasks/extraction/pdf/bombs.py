"""Small PDFs that ask for much: streams that inflate without end, forms that draw each other many times.

Both are found before pdfium reads the file, since it would do what they ask.
"""

import base64
import binascii
import io
import re
import zlib
from collections import Counter
from collections.abc import Sequence

import pikepdf

from pincite.schemas.errors import LimitExceeded

STEP = 1 << 20  # bytes inflated at a time
DEFLATE_RATIO = 1032  # no deflate stream grows by more, see zlib's technical details
MAX_LAYERS = 6  # of compression on one stream; real files have one or two
MAX_DRAWN_FORMS = 200_000  # on one page
MAX_FORM_DEPTH = 40  # of pdfium

_STREAM = re.compile(rb"stream\r?\n")
_IMAGE = re.compile(rb"/Subtype\s*/Image")
_FORM = re.compile(rb"/Subtype\s*/Form")
_ASCII = re.compile(rb"/(ASCII85Decode|A85|ASCIIHexDecode|AHx)\b")
_DRAWN = re.compile(rb"/([^\s/<>\[\]()%]+)\s+Do\b")


def check_inflated(data: bytes, limit: int) -> None:
    """Raises LimitExceeded when the streams of a PDF, images apart, inflate to more than `limit` bytes.

    Streams are found in the raw bytes, so no parser meets a bomb before it is known: xref and object streams
    count too. An image alone may be as large as the limit; the pixel cap guards its rendering.
    """
    cheap = len(data) * DEFLATE_RATIO <= limit
    total = 0
    for match in _STREAM.finditer(data):
        head = data[max(0, match.start() - 1000) : match.start()]
        head = head[head.rfind(b" obj") + 1 :]
        source, start = _binary(data, match.end(), head)
        layers = _layers(source, start)
        if layers == 0 or (cheap and layers == 1):
            continue
        size = _inflated_size(source, start, layers, limit - total)
        if total + size > limit or layers > MAX_LAYERS:
            raise LimitExceeded(
                f"its streams inflate to more than {limit:,} bytes; if the file is trusted, raise "
                "limits.inflated_bytes"
            )
        if not _IMAGE.search(head):
            total += size


def _binary(data: bytes, start: int, head: bytes) -> tuple[bytes, int]:
    """(bytes, where the stream begins in them): decoded first when its dictionary says that it is ASCII."""
    if not _ASCII.search(head):
        return data, start
    written = data[start : max(data.find(b"endstream", start), start)]
    try:
        if b"A85" in head or b"ASCII85" in head:
            return base64.a85decode(written.strip().removesuffix(b"~>")), 0
        return binascii.unhexlify(b"".join(written.split()).removesuffix(b">")), 0
    except ValueError:
        return b"", 0  # pdfium does not decode it either


def _is_zlib(head: bytes) -> bool:
    return len(head) >= 2 and head[0] & 0x0F == 8 and head[0] >> 4 <= 7 and (head[0] << 8 | head[1]) % 31 == 0


def _layers(data: bytes, start: int) -> int:
    """How often the stream was compressed, judged by its first bytes; at most MAX_LAYERS + 1."""
    head = data[start : start + 512]
    layers = 0
    while _is_zlib(head) and layers <= MAX_LAYERS:
        layers += 1
        try:
            head = zlib.decompressobj().decompress(head, 512)
        except zlib.error:
            break
    return layers


def _inflated_size(data: bytes, start: int, layers: int, limit: int) -> int:
    """Bytes that the stream at `start` inflates to, over all its layers; stops soon after `limit`."""
    inflaters = [zlib.decompressobj() for _ in range(layers)]
    size = 0
    window = memoryview(data)
    position = start
    while position < len(data) and size <= limit and not inflaters[0].eof:
        size += _feed(inflaters, 0, bytes(window[position : position + STEP]), limit - size)
        position += STEP
    return size


def _feed(inflaters: list["zlib._Decompress"], layer: int, chunk: bytes, limit: int) -> int:
    if layer == len(inflaters):
        return 0
    size, inflater = 0, inflaters[layer]
    while chunk and size <= limit and not inflater.eof:
        try:
            out = inflater.decompress(chunk, STEP)
        except zlib.error:
            return size  # the parser stops here as well
        size += len(out) + _feed(inflaters, layer + 1, out, limit - size)
        chunk = inflater.unconsumed_tail
    return size


def check_forms(data: bytes) -> None:
    """Raises LimitExceeded when forms that draw forms, or themselves, add up to too many on a page."""
    if not _FORM.search(data):
        return
    try:
        pdf = pikepdf.open(io.BytesIO(data))
    except (pikepdf.PdfError, pikepdf.PasswordError, RuntimeError):
        return  # the reason is told where the file is opened to be read
    with pdf:
        drawn: dict[Key, Sequence[str]] = {}
        for number, page in enumerate(pdf.pages, 1):
            try:
                resources = page.resources  # its own or inherited
            except (pikepdf.PdfError, RuntimeError, TypeError, ValueError, AttributeError):
                continue  # a broken page: nothing on it is drawn
            if _most_drawn(_draws(resources, drawn)) > MAX_DRAWN_FORMS:
                raise LimitExceeded(
                    f"page {number} draws forms within forms more than {MAX_DRAWN_FORMS:,} times; print it to "
                    "a new PDF to flatten it",
                    number,
                )


Key = tuple[int, int]
"""Number and generation of an object."""


def _children(resources: pikepdf.Object | None) -> dict[str, pikepdf.Object]:
    """The form XObjects in the resources of a page or a form."""
    xobjects = resources.get("/XObject") if isinstance(resources, pikepdf.Dictionary) else None
    if not isinstance(xobjects, pikepdf.Dictionary):
        return {}
    return {
        str(name): item
        for name, item in xobjects.items()
        if isinstance(item, pikepdf.Stream) and item.get("/Subtype") == "/Form"
    }


def _draws(resources: pikepdf.Object, drawn: dict[Key, Sequence[str]]) -> dict[Key, Counter[Key]]:
    """How often each form of a page draws which others. `drawn`: names that a form draws, as far as known."""
    draws: dict[Key, Counter[Key]] = {}
    waiting = list(_children(resources).values())
    while waiting:
        form = waiting.pop()
        key = form.objgen
        if key in draws:
            continue
        # A form without resources takes those of its page.
        children = _children(form.get("/Resources", resources))
        draws[key] = Counter()
        if not children:
            continue
        if key not in drawn:
            drawn[key] = _drawn_names(form)
        for name in drawn[key]:
            if (child := children.get(name)) is not None:
                draws[key][child.objgen] += 1
        waiting += children.values()
    return draws


def _drawn_names(form: pikepdf.Object) -> list[str]:
    try:
        content = form.read_bytes()
    except (pikepdf.PdfError, RuntimeError):
        return []
    return ["/" + name.decode("latin-1") for name in _DRAWN.findall(content)]


def _most_drawn(draws: dict[Key, Counter[Key]]) -> int:
    """The most forms that one form draws, itself included, as deep as pdfium goes; stops above the limit."""
    sizes = dict.fromkeys(draws, 1)
    for _ in range(MAX_FORM_DEPTH):
        before, sizes = (
            sizes,
            {
                key: 1 + sum(times * sizes[child] for child, times in inner.items())
                for key, inner in draws.items()
            },
        )
        if sizes == before or max(sizes.values(), default=0) > MAX_DRAWN_FORMS:
            break
    return max(sizes.values(), default=0)
