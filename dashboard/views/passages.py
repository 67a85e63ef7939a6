"""Opening a passage by its name: DOCUMENT#char=from,to."""

import difflib
import uuid
from dataclasses import dataclass
from pathlib import Path

from pincite.dashboard.views.source_files import Origin, original
from pincite.schemas.counting import counted
from pincite.schemas.display import one_line
from pincite.schemas.errors import NotFound, UsageError
from pincite.schemas.locators import char_fragment, overlapping, parse_passage, place_fragment
from pincite.schemas.records import Page
from pincite.schemas.settings import Settings
from pincite.storage.documents.texts import StoredText, read_texts
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import LiveDocument, Snapshot
from pincite.tasks.inspection.passage_pages import PassageOrder, PassagePage
from pincite.tasks.sandbox.pool import StageFailed, Worker

MOST_PAGES = 6  # of one passage that are shown


@dataclass(frozen=True, slots=True)
class DocumentPassage:
    """A stretch of a document's canonical text with what stands around it."""

    document: str
    document_id: str
    title: str
    media_type: str
    start: int
    end: int
    locator: str
    quote: str
    before: str
    after: str
    left: int  # characters behind `after`
    version: int
    stale: str  # why this is not the text of the document now; "" when it is
    pages: tuple[int, ...] = ()  # on which it stands; the locator names the first

    @property
    def places(self) -> list[str]:
        """The locators, each once."""
        return list(dict.fromkeys([self.locator, char_fragment(self.start, self.end)]))

    @property
    def over(self) -> str:
        """ "pages 3–4" of one that goes over several; "" else."""
        return f"pages {self.pages[0]}–{self.pages[-1]}" if len(self.pages) > 1 else ""


def open_passage(
    index: Index, name: str, context: int, version: int | None = None
) -> tuple[DocumentPassage, StoredText]:
    """The passage of a name as a search prints it, with up to `context` characters on each side.

    From a version, the newest if none is named.

    Raises `UsageError` for a name of another form and what `open_stretch` raises.
    """
    parsed = parse_passage(name)
    if parsed is None:
        raise UsageError(
            f"{one_line(name)!r} is no passage: expected DOCUMENT#char=from,to, as a search prints it"
        )
    document, start, end = parsed
    with index.snapshot(version) as snapshot:
        document_id, version = _document(snapshot, document).document_id, snapshot.version
    return open_stretch(index, document_id, start, end, context, version)


def open_stretch(
    index: Index, document_id: str, start: int, end: int, context: int, version: int | None = None
) -> tuple[DocumentPassage, StoredText]:
    """`text[start:end]` of a document with up to `context` characters on each side, from a version or the newest.

    Raises `NotFound` for a document that is not there and a range that its text does not have.
    """
    version = index.newest_version() if version is None else version
    stored = read_texts(index, [document_id], version).get(document_id)
    if stored is None:
        raise NotFound(
            f"the index has no text of a document {one_line(document_id)!r}. `pincite documents` lists them"
        )
    document, length = stored.document, len(stored.text)
    if not 0 <= start < end <= length:
        reason = (
            "is empty" if start >= end and end <= length else f"is beyond its {counted(length, 'character')}"
        )
        raise NotFound(
            f"{char_fragment(start, end)} {reason}: {one_line(document.path)} has #char=0,{length}"
        )
    places = overlapping(stored.places, start, end)
    after = stored.text[end : end + context]
    passage = DocumentPassage(
        document=document.path,
        document_id=document.document_id,
        title=document.title,
        media_type=document.media_type,
        start=start,
        end=end,
        locator=place_fragment(places) or char_fragment(start, end),
        quote=stored.text[start:end],
        before=stored.text[max(0, start - context) : start],
        after=after,
        left=length - end - len(after),
        version=version,
        stale=document.stale_reason,
        pages=tuple(dict.fromkeys(int(place.label) for place in places if place.kind == "page")),
    )
    return passage, stored


def _document(snapshot: Snapshot, name: str) -> LiveDocument:
    """The document of this path, or of this id."""
    documents = snapshot.documents()
    found = [one for one in documents if one.path == name] or [
        one for one in documents if one.document_id == name
    ]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(one.document_id for one in found)
        raise UsageError(f"{len(found)} documents are named {one_line(name)}: say which by its id, {ids}")
    near = difflib.get_close_matches(name, [one.path for one in documents], 3)
    hint = f" Did you mean {', '.join(map(one_line, near))}?" if near else ""
    raise NotFound(f"the index has no document {one_line(name)!r}.{hint} `pincite documents` lists them")


def has_pages(stored: StoredText) -> bool:
    """Whether the document is one whose pages can be shown: a PDF or a picture."""
    media_type = stored.document.media_type
    return bool(stored.pages) and (media_type == "application/pdf" or media_type.startswith("image/"))


def page_images(
    stored: StoredText, start: int, end: int, settings: Settings
) -> tuple[tuple[PassagePage, ...], str]:
    """(the pages of the passage, why they or some of them are missing or "").

    The file is read again in a child process; when it is not the file that was indexed, its pages are not shown.
    """
    whole = tuple(overlapping(stored.pages, start, end))
    pages = whole[:MOST_PAGES]
    if not pages:
        return (), "the passage stands on no page"
    left_out = (
        f"of {counted(len(whole), 'page')} the first {MOST_PAGES} are shown"
        if len(whole) > MOST_PAGES
        else ""
    )
    with original(Origin.of(stored.document), settings) as (path, missing):
        if missing:
            return (), missing
        seen, failed = _seen(stored, path, pages, (start, end), settings)
        return seen, failed or left_out


def _seen(
    stored: StoredText, path: Path, pages: tuple[Page, ...], passage: tuple[int, int], settings: Settings
) -> tuple[tuple[PassagePage, ...], str]:
    order = PassageOrder(
        path=path,
        media_type=stored.document.media_type,
        settings=settings,
        pages=pages,
        text=stored.text[pages[0].start : pages[-1].end],
        offset=pages[0].start,
        start=passage[0],
        end=passage[1],
    )
    worker = Worker(settings.limits.memory_bytes, f"cite-{uuid.uuid4().hex}")
    try:
        seen: tuple[PassagePage, ...] = worker.run(
            "pincite.tasks.inspection.passage_pages:see", order, settings.limits.deadline_s
        )
    except StageFailed as failed:
        return (), f"the file can't be shown: {failed.failure.reason}"
    finally:
        worker.kill()
    return seen, "" if seen else "the file has no such pages"
