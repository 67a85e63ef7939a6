"""Citations: the numbered prompt, and the table behind its numbers, which the model never sees.

hits → citations (each quote compared with the stored text) → prompt
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from pincite.retrieval.answers.prompt_framing import framed, framed_line, framed_question
from pincite.schemas.counting import counted
from pincite.schemas.locators import char_fragment
from pincite.schemas.records import Hit

INSTRUCTION = (
    "Answer using ONLY the numbered sources below. Cite every claim as [n].\n"
    "If the sources do not contain the answer, say so and stop."
)


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered source. `verified`: `text[start:end] == quote` held on the stored canonical text."""

    index: int  # the number in the prompt, 1-based
    document: str
    label: str  # for people: page, sheet or time, then the section
    locator: str
    quote: str
    start: int  # code points of the canonical text, half open
    end: int
    cosine_distance: float | None
    verified: bool


def cite(index: int, hit: Hit, text: str | None) -> tuple[Citation, str]:
    """(the citation of a hit, why its quote is not proved or ""). `text`: as stored; None when there is none."""
    problem = difference(hit.content, hit.start, hit.end, text)
    citation = Citation(
        index=index,
        document=hit.document,
        label=label_of(hit),
        locator=hit.locator,
        quote=hit.content,
        start=hit.start,
        end=hit.end,
        cosine_distance=hit.cosine_distance,
        verified=not problem,
    )
    return citation, problem


def difference(quote: str, start: int, end: int, text: str | None) -> str:
    """ "" when `text[start:end]` is the quote, else what is there instead."""
    if text is None:
        return "the index holds no text of this document"
    if not 0 <= start < end <= len(text):
        return f"{char_fragment(start, end)} is no range of its {counted(len(text), 'character')}"
    if text[start:end] == quote:
        return ""
    elsewhere = text.find(quote) if quote else -1
    if elsewhere >= 0:
        return f"these words stand at {char_fragment(elsewhere, elsewhere + len(quote))}, not where they are cited"
    return "these words are not in the document"


def label_of(hit: Hit) -> str:
    """ "page 12, Maintenance > Seals"; the title where a document has neither places nor sections."""
    section = hit.section
    if section == hit.title:
        section = ""
    section = section.removeprefix(f"{hit.title} > ")
    return ", ".join(filter(None, [place_words(hit.locator), section])) or hit.title or "text"


def place_words(locator: str) -> str:
    """A locator in words: "page 12", "0:02:12–0:02:38", "Prices A2:D9"; "" for characters."""
    name, _, value = locator.removeprefix("#").partition("=")
    match name:
        case "page" | "slide":
            return f"{name} {value}"
        case "t":
            return "–".join(_clock(part) for part in value.split(","))
        case "sheet":
            sheet, _, cells = value.partition("&range=")
            return f"{unquote(sheet)} {cells}".strip()
        case "entry":
            return unquote(value)
    return ""


def _clock(seconds: str) -> str:
    whole = int(float(seconds))
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def prompt_of(question: str, citations: Sequence[Citation]) -> str:
    """The prompt of section 7 of the spec. Text of documents can't write a line of its frame (`framing`)."""
    blocks = "\n\n".join(
        f"[{one.index}] {framed_line(one.document)} - {framed_line(one.label)}\n{framed(one.quote)}"
        for one in citations
    )
    return f"{INSTRUCTION}\n\nSOURCES\n{blocks}\n\nQUESTION\n{framed_question(question)}"
