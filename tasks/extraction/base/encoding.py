"""Bytes of a text file to its text.

Order: byte order mark, UTF-16 without one, 7-bit escape encodings, UTF-8, UTF-8 with single lines of
Windows-1252, the encoding that the file declares, a guess. The guess is chardet's: of 46 short texts in 13
languages and 20 encodings it got all, charset-normalizer 3.5.3 got 30
(`tests/tasks/extraction/base/test_encoding.py` keeps these texts).
"""

import codecs
import re
from collections.abc import Iterable

import chardet
import regex

from pincite.schemas.counting import counted
from pincite.schemas.errors import Unreadable
from pincite.schemas.records import DocumentWarning

Decoded = tuple[str, tuple[DocumentWarning, ...]]

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ESCAPES = ((b"\x1b$B", "iso2022_jp_2"), (b"\x1b$@", "iso2022_jp_2"), (b"\x1b$)C", "iso2022_kr"))
# What is written under these names, WHATWG Encoding section 4.2: the label is narrower than practice.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
# These rewrite plain ASCII, or, as UTF-16 and UTF-32 (WHATWG Encoding, HTML 13.2.3.2), can't be what a file
# of single bytes says about itself.
_NEVER_DECLARED = re.compile("utf-7|utf-16|utf-32|raw.unicode|unicode.escape|idna|punycode|undefined")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_CONTROL_SHARE = 0.02
_SAMPLE_BYTES = 200_000
_IMPOSSIBLE = regex.compile(
    r"""(?V1)(?<=\p{L}) [[\p{S}\p{Lm}\p{Po}\p{Ps}\p{Pi}\p{C}]--[\x00-\x7f·’]] (?=\p{L})  # R‰ksm, Grˆşe
      | (?<=\p{Ll}) [\p{Lu}--[A-Z]]  # grÂs
      | (?<=[A-Za-z]) [\p{Cyrillic}\p{Greek}\p{Hebrew}\p{Arabic}\p{Thai}]  # cafй
      | [\p{Cyrillic}\p{Greek}\p{Hebrew}\p{Arabic}\p{Thai}] (?=[A-Za-z])
      | \N{REPLACEMENT CHARACTER}""",
    regex.VERBOSE,
)
"""What no word has when it is read in the right encoding."""
_ABOUT_AS_LIKELY = 0.3
_TERMINAL = re.compile(
    r"\x1b(?:\[[0-?]{0,200}[ -/]{0,20}[@-~]"  # CSI: colours, the cursor (ECMA-48, 5.4)
    r"|[\]PX^_][^\x07\x1b]{0,5000}(?:\x07|\x1b\\)"  # OSC and its kind: titles, addresses of links
    r"|[ -/]{0,20}[0-~])"
)
_OVERSTRUCK = re.compile(r"[^\n\b]\x08")  # bold and underline of old manuals: the sign that stays comes last
_NULS = re.compile(rb"\x00+")
_BINARY_CONTROLS = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_TEXT_PER_NULS = 24  # bytes of text for each run of NULs: in a program they part short names
_MIXED_BYTES = 4_000_000
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_UNLIKELY_UTF8 = re.compile(r"[\x80-\x9f\u0180-\u07ff]")  # what two bytes of other encodings come to
_LINE_END = re.compile(r"\r\n?")


def decode(data: bytes, declared: str = "") -> Decoded:
    """(text, warnings): what these bytes say, every line end (CRLF, CR) as LF, without the byte order mark.

    This is the canonical text: offsets count its code points, so on a CRLF file they are no file offsets.
    `declared`: the encoding that the file itself names (an HTML meta element, a mail header), "" for none.
    A guessed encoding and bytes that could not be decoded are warnings; U+FFFD stands only where such a
    warning says so, or where the source itself has it. What only steers a terminal (colours, the cursor, a sign
    printed over itself) is no text. Raises `Unreadable` for binary data.
    """
    text, warnings = _decode(data, declared)
    if "\x1b" in text or "\b" in text:
        text = _OVERSTRUCK.sub("", _TERMINAL.sub("", text))
    _refuse_binary(text)
    return normalise_lines(text), warnings


def normalise_lines(text: str) -> str:
    """CRLF and CR become LF."""
    return _LINE_END.sub("\n", text) if "\r" in text else text


def _decode(data: bytes, declared: str) -> Decoded:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _by_mark(data[len(mark) :], name)
    if b"\x00" in data:
        return _wide(data) or _with_nuls(data, declared)
    sure = [name for escape, name in _ESCAPES if escape in data] + ["utf-8"]
    if (text := _first(data, sure)) is not None:
        return text, ()
    if decoded := _two_encodings(data) or _damaged_utf8(data):
        return decoded
    if (text := _first(data, [_known(declared)])) is not None:
        return text, ()
    return _guess(data)


def _by_mark(data: bytes, name: str) -> Decoded:
    text = _first(data, [name])
    if text is not None:
        return text, ()
    if name == "utf-8" and (damaged := _damaged_utf8(data)):
        return damaged
    raise Unreadable(
        f"begins with the byte order mark of {name.upper()}, but is not valid {name.upper()}; save it anew"
    )


def _wide(data: bytes) -> Decoded | None:
    """UTF-16 without a mark: text of most scripts has NULs in every second byte only."""
    high_nuls, low_nuls = data[1::2].count(0), data[0::2].count(0)
    for name, nuls, others in (("utf-16-le", high_nuls, low_nuls), ("utf-16-be", low_nuls, high_nuls)):
        if len(data) % 2 == 0 and others == 0 and nuls * 10 > len(data):
            text = _first(data, [name])
            if text is not None:
                return text, (_guessed(name.upper()),)
    return None


def _with_nuls(data: bytes, declared: str) -> Decoded:
    """Text with NULs in it, as a log that was cut while it was written: without them, each run a line end."""
    runs = len(_NULS.findall(data))
    binary = Unreadable(f"binary data, not text: a NUL byte at {data.index(0):,}")
    rest = _NULS.sub(b"\n", data).strip(b"\n")
    if not rest or _BINARY_CONTROLS.search(rest):
        raise binary
    try:
        text, warnings = _decode(rest, declared)
    except Unreadable as error:
        raise binary from error
    if any(warning.code != "mixed-encodings" for warning in warnings) or len(rest) < _TEXT_PER_NULS * runs:
        raise binary
    message = (
        f"{data.count(0):,} NUL bytes in {counted(runs, 'place')}, the first at {data.index(0):,}, left out"
    )
    return text, (DocumentWarning("nul-bytes", message), *warnings)


def _two_encodings(data: bytes) -> Decoded | None:
    """UTF-8 whose other lines are Windows-1252; None for a file of one encoding, or a damaged one."""
    if len(data) > _MIXED_BYTES or _cut_off(data):
        return None
    lines: list[str] = []
    others: list[int] = []
    utf8 = False
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            lines.append(line.decode("utf-8"))
            utf8 = utf8 or (not line.isascii() and not _UNLIKELY_UTF8.search(lines[-1]))
        except UnicodeDecodeError:
            text = _first(line, ["cp1252"])
            if text is None or _MULTIBYTE.search(line) or not _reads_as_latin(text):
                return None
            lines.append(text)
            others.append(number)
    if not (utf8 and others):
        return None
    shown = ", ".join(map(str, others[:5])) + (" …" if len(others) > 5 else "")
    message = f"UTF-8, but for {counted(len(others), 'line')} (line {shown}), read as Windows-1252"
    return "\n".join(lines), (DocumentWarning("mixed-encodings", message),)


def _reads_as_latin(text: str) -> bool:
    """Whether letters beyond ASCII are few among plain ones, and no word is impossible."""
    beyond = sum(letter > "\x7f" for letter in text if letter.isalpha())
    return beyond * 2 <= sum(map(str.isalpha, text)) and not _IMPOSSIBLE.search(text)


def _damaged_utf8(data: bytes) -> Decoded | None:
    """UTF-8 with few broken bytes, each shown as U+FFFD and counted; None when it is rather not UTF-8."""
    text = data.decode("utf-8", errors="replace")
    broken = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    sound = sum(character > "\x7f" for character in text) - text.count("\ufffd")
    if sound < (1 if _cut_off(data) else 8 * broken):
        return None
    first = text.index("\ufffd")
    message = f"{broken} broken UTF-8 sequence(s), the first near character {first}, shown as U+FFFD"
    return text, (DocumentWarning("damaged-encoding", message),)


def _cut_off(data: bytes) -> bool:
    """Whether all is valid UTF-8 but for a character that the end of the file cuts in two."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=False)
    except UnicodeDecodeError:
        return False
    return True


def _guess(data: bytes) -> Decoded:
    """By chardet, on the part that says most: the start, cut at a line end, and the whole if it must be.

    At last without the first bytes, by which chardet takes a text about PDF files for one.
    """
    for sample in dict.fromkeys((_sample(data), data, data[8:])):
        name = _known(_likely(sample))
        if name and (text := _first(data, [name])) is not None:
            return text, (_guessed(name),)
    raise Unreadable("binary data, not text: it is valid in no known encoding; save it as UTF-8")


def _likely(sample: bytes) -> str:
    """The name of the guess that makes the fewest impossible words, of those about as likely as the best.

    On a line of German in cp1252, chardet holds MacTurkish for slightly likelier: "Grˆşe" for "Größe".
    """
    guesses = [guess for guess in chardet.detect_all(sample) if _known(str(guess["encoding"] or ""))]
    if not guesses:
        return ""
    near = [guess for guess in guesses if guess["confidence"] >= guesses[0]["confidence"] * _ABOUT_AS_LIKELY]
    names = [str(guess["encoding"]) for guess in near]
    return min(
        names, key=lambda name: len(_IMPOSSIBLE.findall(sample.decode(_known(name), errors="replace")))
    )


def _sample(data: bytes) -> bytes:
    """At most `_SAMPLE_BYTES` around the first byte that is not ASCII."""
    if len(data) <= _SAMPLE_BYTES:
        return data
    match = re.search(rb"[\x80-\xff]", data)
    start = data.rfind(b"\n", 0, match.start() if match else 0) + 1
    part = data[start : start + _SAMPLE_BYTES]
    return part[: part.rfind(b"\n") + 1] or part


def _guessed(name: str) -> DocumentWarning:
    return DocumentWarning("encoding-guessed", f"no encoding is declared and it is not UTF-8; read as {name}")


def _known(label: str) -> str:
    """The codec of an encoding label, widened to what is written under it; "" for none that is text."""
    if not label.strip():
        return ""
    try:
        codec = codecs.lookup(label.strip())
    except (LookupError, ValueError):
        return ""
    # rot13, base64 and zip are codecs too.
    if not getattr(codec, "_is_text_encoding", True) or _NEVER_DECLARED.match(codec.name):
        return ""
    return _WIDER.get(codec.name, codec.name)


def _first(data: bytes, names: Iterable[str]) -> str | None:
    """The text in the first of these encodings in which all bytes are valid; None in none of them."""
    for name in names:
        if not name:
            continue
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            if name.startswith("cp125"):
                return _windows(data, name)
    return None


def _windows(data: bytes, name: str) -> str | None:
    """WHATWG maps the unassigned bytes of Windows encodings to C1 controls; Python refuses them."""
    table = {byte: bytes([byte]).decode(name, errors="ignore") or chr(byte) for byte in range(256)}
    text = data.decode("latin-1").translate(table)
    return text if len(_CONTROLS.findall(text)) <= _CONTROL_SHARE * len(text) else None


def _refuse_binary(text: str) -> None:
    nul = text.find("\x00")
    if nul >= 0:
        raise Unreadable(f"binary data, not text: a NUL at character {nul:,}")
    controls = len(_CONTROLS.findall(text))
    if controls > max(3, _CONTROL_SHARE * len(text)) or controls * 2 > len(text):
        raise Unreadable(f"binary data, not text: {controls:,} control characters among {len(text):,}")
