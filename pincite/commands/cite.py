"""`pincite cite`."""

from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from pincite.console import DEFAULT_INDEX, IndexOption, JsonOption, complain, one_line, print_json, say, shown
from pincite.dashboard.views.passage_page import page_of_passage
from pincite.dashboard.views.passages import DocumentPassage, has_pages, open_passage, page_images
from pincite.flows.settings import load_settings
from pincite.output import check_target, write_whole
from pincite.retrieval.answers.annotations import annotation as annotation_of
from pincite.storage.snapshots.index import Index
from pincite.time_travel_options import AtOption, VersionOption, former_moment

HTML_CONTEXT = 4_000  # characters on each side of a passage on its page
OPENED, CLOSED = "⟦", "⟧"


def cite(
    passage: Annotated[str, typer.Argument(help="DOCUMENT#char=from,to, as a search prints it.")],
    index: IndexOption = DEFAULT_INDEX,
    version: VersionOption = None,
    at: AtOption = None,
    context: Annotated[int, typer.Option(min=0, help="Characters shown on each side.")] = 300,
    html: Annotated[
        Path | None,
        typer.Option(help="Write the passage as an HTML page, with page images of PDF and scans."),
    ] = None,
    annotation: Annotated[
        Path | None, typer.Option(help="Write the passage as a W3C Web Annotation (JSON-LD).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Open a passage: its document's text around it, with the passage marked."""
    check_target(html)
    check_target(annotation)
    settings = load_settings()
    with Index.open(index) as opened:
        moment = former_moment(opened, version, at)
        then = moment.version if moment else None
        found, stored = open_passage(opened, passage, context, then)
        around, _ = open_passage(opened, passage, HTML_CONTEXT, then) if html else (found, None)
    if html is not None:
        pages, missing = (
            page_images(stored, found.start, found.end, settings) if has_pages(stored) else ((), "")
        )
        write_whole(html, page_of_passage(around, pages, missing))
        if missing:
            complain(f"no page image: {one_line(missing)}")
    if annotation is not None:
        made = annotation_of(stored, found.start, found.end, found.locator)
        write_whole(annotation, dumps(made, ensure_ascii=False, indent=2) + "\n")
    if json:
        print_json(asdict(found))
    else:
        _show(found)


def _show(found: DocumentPassage) -> None:
    say(" ".join(filter(None, [one_line(found.document), *found.places, found.over])))
    if found.title != found.document:
        say(one_line(found.title))
    if found.stale:
        say(f"stale: {one_line(found.stale)}")
    say("")
    opening = "…" if found.start > len(found.before) else ""
    closing = "…" if found.left else ""
    say(f"{opening}{shown(found.before)}{OPENED}{shown(found.quote)}{CLOSED}{shown(found.after)}{closing}")
