"""Transcripts (WebVTT, SubRip): what was said, each cue on its time.

decode → cues in order of time → paragraphs by speaker and pause. Cue identifiers, settings, styling, notes and
style sheets are left out. WebVTT: W3C Candidate Recommendation, section 4; SubRip has no specification.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.encoding import decode
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.text_builder import Piece, TextBuilder, one_line

PAUSE_S = 4.0  # a silence that ends a paragraph
PARAGRAPH_CHARACTERS = 800  # after which a paragraph ends with the next sentence

_CLOCK = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?"
_TIMING = re.compile(rf"\s*{_CLOCK}\s*-->\s*{_CLOCK}(?:\s.*)?")
_ARROW = "-->"
_NOT_SHOWN = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_VOICE = re.compile(r"<v(?:\.[^\s<>.]*)*\s+([^<>]*)>")
_INNER_TIME = re.compile(r"<\d[\d:.]*>")
_TAG = re.compile(
    r"</?(?:c|i|b|u|s|v|lang|ruby|rt|font)(?:[.\s][^<>]*)?>|<\d[\d:.]*>"  # WebVTT 4.2.2, and HTML in SubRip
    r"|\{\\[^{}]*\}|\{/?[ibus]\}|\{[yY]:[ibus,]+\}"  # SubStation and MicroDVD codes in SubRip
)
_SENTENCE_END = re.compile(r"[.!?…。\uff01\uff1f][\"'”’)\]]*$")


@dataclass(frozen=True, slots=True)
class Cue:
    start_s: float
    end_s: float
    lines: tuple[str, ...]  # as shown
    speaker: str = ""
    label: str = ""  # of its place; "" when its time can't be read
    rolling: bool = False  # words appear one by one: the next cue shows them again


def extract_transcript(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """What was said. Raises `Unreadable` for a file without cues."""
    progress(1)
    text, warnings = decode(path.read_bytes())
    builder = TextBuilder()
    builder.add_warnings(warnings)
    webvtt = text.lstrip("\ufeff").startswith("WEBVTT")
    title = (
        one_line(text.lstrip("\ufeff").partition("\n")[0].removeprefix("WEBVTT")).lstrip("-– ")
        if webvtt
        else ""
    )
    cues = _read_cues(text.split("\n"), webvtt, builder)
    if not cues:
        raise Unreadable("no cue with a time (00:01.000 --> 00:02.000) is in this file: it is no transcript")
    if any(cue.rolling for cue in cues):
        builder.warn("rolling-captions", "lines that a cue repeats from the one before it are read once")
        cues = _unrolled(cues)
    for paragraph in _paragraphs(cues):
        builder.run(list(_pieces(paragraph)), "paragraph", "time", " ")
    return builder.extraction(title, "text/vtt" if webvtt else "application/x-subrip")


def _read_cues(lines: Sequence[str], webvtt: bool, builder: TextBuilder) -> list[Cue]:
    """Cues by start, those that start together as the file has them."""
    cues: list[Cue] = []
    for block in _blocks(lines, webvtt):
        at = next((index for index, line in enumerate(block) if _ARROW in line), None)
        if webvtt and _NOT_SHOWN.match(block[0]):
            continue
        stray = _before_cue(block, at, webvtt)
        if stray and cues:
            # A blank line inside a cue: WebVTT forbids it, players of SubRip show what follows.
            cues[-1] = replace(cues[-1], lines=(*cues[-1].lines, *_shown(stray)))
        elif stray and not webvtt:
            builder.name("text-outside-cue", "text before the first cue, left out", " ".join(stray))
        if at is not None:
            cues.append(_cue(block[at], block[at + 1 :], cues, builder))
    return sorted(cues, key=lambda cue: cue.start_s)


def _before_cue(block: Sequence[str], at: int | None, webvtt: bool) -> Sequence[str]:
    """The lines before a cue that are not its identifier: one line of any text in WebVTT, a number in SubRip."""
    if at is None or at == 0:
        return block if at is None else ()
    return block[: at - 1] if webvtt or block[at - 1].isdigit() else block[:at]


def _blocks(lines: Sequence[str], webvtt: bool) -> Iterator[list[str]]:
    """Runs of lines that are not blank, and a new one at each timing line, with the identifier before it."""
    block: list[str] = []
    for number, line in enumerate(lines):
        starts = _ARROW in line and any(_ARROW in earlier for earlier in block)
        if block and (not line.strip() or starts):
            # SubRip counts its cues: a number right before a timing line is not speech.
            held = [block.pop()] if starts and block[-1].strip().isdigit() else []
            yield block
            block = held
        if line.strip() and not (webvtt and number == 0):
            block.append(line.strip())
    if block:
        yield block


def _cue(timing: str, payload: Sequence[str], before: Sequence[Cue], builder: TextBuilder) -> Cue:
    found = _TIMING.fullmatch(timing)
    text = "\n".join(payload)
    voices = _VOICE.findall(text)
    speaker = one_line(html.unescape(voices[0])) if len(voices) == 1 else ""
    if len(voices) > 1:
        payload = _VOICE.sub(r"\1: ", text).split("\n")
    shown = tuple(_shown(payload))
    if found is None:
        builder.name("broken-cue", "cues without a readable time; their words are kept without one", timing)
        at = before[-1].end_s if before else 0.0
        return Cue(at, at, shown, speaker)
    start, end = _seconds(found.groups()[:4]), _seconds(found.groups()[4:])
    end = max(start, end)
    return Cue(
        start, end, shown, speaker, f"{_decimal(start)},{_decimal(end)}", bool(_INNER_TIME.search(text))
    )


def _shown(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        words = one_line(html.unescape(_TAG.sub("", line)))
        if words:
            yield words


def _seconds(clock: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in clock)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000


def _decimal(seconds: float) -> str:
    return f"{seconds:.3f}".rstrip("0").rstrip(".")


def _unrolled(cues: Sequence[Cue]) -> list[Cue]:
    """Cues without the leading lines that the cue before them already showed."""
    kept: list[Cue] = []
    before: tuple[str, ...] = ()
    for cue in cues:
        repeated = next(
            (n for n in range(min(len(before), len(cue.lines)), 0, -1) if before[-n:] == cue.lines[:n]), 0
        )
        kept.append(replace(cue, lines=cue.lines[repeated:]))
        before = cue.lines
    return kept


def _paragraphs(cues: Sequence[Cue]) -> Iterator[list[Cue]]:
    paragraph: list[Cue] = []
    size = 0
    for cue in cues:
        if not cue.lines:
            continue
        if paragraph and _ends(paragraph[-1], cue, size):
            yield paragraph
            paragraph, size = [], 0
        paragraph.append(cue)
        size += sum(map(len, cue.lines))
    if paragraph:
        yield paragraph


def _ends(last: Cue, cue: Cue, size: int) -> bool:
    long = size > PARAGRAPH_CHARACTERS and _SENTENCE_END.search(last.lines[-1])
    return cue.speaker != last.speaker or cue.start_s - last.end_s > PAUSE_S or bool(long)


def _pieces(paragraph: Sequence[Cue]) -> Iterator[Piece]:
    """The speaker's name stands before the paragraph, on no cue's time."""
    if paragraph[0].speaker:
        yield f"{paragraph[0].speaker}:", ""
    for cue in paragraph:
        yield re.sub(r"\n(?![-–])", " ", "\n".join(cue.lines)), cue.label
