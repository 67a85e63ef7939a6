"""`pincite chunk`."""

from pathlib import Path
from typing import Annotated

import typer

from pincite.console import JsonOption, one_line, print_json, say
from pincite.encoders.models import resolve_model
from pincite.encoders.wordpieces import WordPieces
from pincite.flows.settings import load_settings
from pincite.schemas.counting import counted
from pincite.schemas.errors import DocumentError, UsageError
from pincite.schemas.locators import char_fragment, overlapping, place_fragment
from pincite.schemas.settings import completed
from pincite.tasks.chunking.by_model import chunks_for_model
from pincite.tasks.extraction.extract import extract
from pincite.tasks.steps.prepare import document_title


def chunk(
    file: Annotated[Path, typer.Argument(help="A document.")],
    strategy: Annotated[str | None, typer.Option(help="structural, or a reference strategy A to F.")] = None,
    json: JsonOption = False,
) -> None:
    """Print the chunks of one file; nothing is stored."""
    settings = completed(load_settings(chunker=strategy))
    model = resolve_model(settings.model)
    if not file.is_file():
        raise UsageError(f"no such file: {file}")
    try:
        extraction = extract(file, settings, lambda _page: None)
    except DocumentError as error:
        raise UsageError(f"{file}: {error.kind}: {error}") from error
    title = document_title(extraction, file.name)
    chunks = chunks_for_model(extraction, title, settings.chunker, WordPieces(model)).chunks
    rows = [
        {
            "text": one.text,
            "content": one.content,
            "section": one.section,
            "start": one.start,
            "end": one.end,
            "locator": place_fragment(overlapping(extraction.places, one.start, one.end))
            or char_fragment(one.start, one.end),
            "tokens": one.tokens,
            "over_window": one.over_window,
        }
        for one in chunks
    ]
    if json:
        print_json(rows)
        return
    for number, (row, one) in enumerate(zip(rows, chunks, strict=True)):
        flag = " OVER THE WINDOW" if row["over_window"] else ""
        say(f"--- {number} {row['locator']} {counted(one.tokens, 'word-piece')}{flag}")
        for line in str(row["text"]).splitlines():
            say(one_line(line))
