"""The canonical text as HTML with its chunks as coloured spans, and words that OCR was unsure of underlined."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from pincite.schemas.counting import counted
from pincite.schemas.display import escaped
from pincite.schemas.records import Chunk
from pincite.storage.documents.whole import WholeDocument
from pincite.tasks.inspection.inspect import Inspection, Leaf, Part, TextRun, leaves_of

_UNSURE = ((60, "poor"), (80, "weak"))
"""Confidence of a word below which it is underlined, and how."""


def leaves_between(whole: WholeDocument, first: int, last: int) -> list[Leaf]:
    """The pages `first` to `last` with their text in parts; one leaf of a document without pages."""
    seen = Inspection(
        whole.document.path,
        whole.document.title,
        first,
        last,
        extraction=whole.extraction,
        chunks=whole.chunks,
    )
    return leaves_of(seen)


def text_of(whole: WholeDocument, leaf: Leaf) -> Markup:
    """All text of a leaf."""
    return Markup("\n").join(_part(whole, part) for part in leaf.parts)


def _part(whole: WholeDocument, part: Part) -> Markup:
    return Markup("").join(_runs(whole, list(runs)) for _, runs in groupby(part.runs, lambda run: run.chunk))


def _runs(whole: WholeDocument, runs: Sequence[TextRun]) -> Markup:
    """Runs of one chunk, or of none, after the chunk's name where it begins."""
    body = "".join(_words(whole.extraction.text, runs))
    ordinal = runs[0].chunk
    if ordinal is None:
        return Markup(body)
    tag = _tag(whole.chunks[ordinal]) if runs[0].begins else ""
    return Markup(f'{tag}<span class="c{ordinal % 2}" title="chunk {ordinal}">{body}</span>')


def _words(text: str, runs: Sequence[TextRun]) -> Iterator[str]:
    for run in runs:
        words = escaped(text[run.start : run.end])
        look = next(
            (look for limit, look in _UNSURE if run.confidence is not None and run.confidence < limit), ""
        )
        yield (
            f'<span class="{look}" title="OCR confidence {run.confidence}">{words}</span>' if look else words
        )


def _tag(chunk: Chunk) -> str:
    over = ' <em class="over">over the window</em>' if chunk.over_window else ""
    place = f"{chunk.start}–{chunk.end}"
    header = f' title="{escaped(chunk.header)}"' if chunk.header else ""
    length = counted(chunk.tokens, "word-piece")
    return f'<span class="tag"{header}>{chunk.ordinal} · {place} · {length}{over}</span>'
