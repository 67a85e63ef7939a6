"""`pincite search`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from pincite.console import (
    DEFAULT_INDEX,
    ExitCode,
    IndexOption,
    JsonOption,
    complain,
    one_line,
    print_json,
    say,
)
from pincite.settings import load_settings
from retrieval.refusal import no_answer
from retrieval.search import open_index
from schemas.locators import char_fragment
from schemas.records import Hit


def search(
    query: Annotated[str, typer.Argument(help="A question, or the words to find.")],
    index: IndexOption = DEFAULT_INDEX,
    mode: Annotated[Literal["hybrid", "dense", "bm25"], typer.Option(help="Which legs search.")] = "hybrid",
    k: Annotated[int, typer.Option("-k", min=1, help="How many passages at most.")] = 10,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=2.0, help="Keep only passages under this cosine distance, at most 4."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Find passages; each comes with the place where it stands."""
    settings = load_settings()
    with open_index(Path(index), settings) as searcher:
        results = searcher.search(query, mode=mode, k=k, threshold=threshold)
    if json:
        hits = [asdict(hit) for hit in results.hits]
        print_json({"query": query, "hits": hits, "refused": results.refused, "version": results.version})
    else:
        for hit in results.hits:
            _show(hit, settings.ocr.low_confidence)
    if results.refused and threshold is not None:
        complain(no_answer(one_line(query), threshold))
        raise typer.Exit(ExitCode.NO_ANSWER)
    if not results.hits:
        complain(f'nothing found for "{one_line(query)}"')
        raise typer.Exit(ExitCode.NO_ANSWER)


def _show(hit: Hit, low_confidence: float) -> None:
    fragments = dict.fromkeys([hit.locator, char_fragment(hit.start, hit.end)])
    say(f"[{hit.rank}] {one_line(hit.document)} {' '.join(fragments)}")
    section = hit.section.removeprefix(hit.title).removeprefix(" > ")
    say(f"    {one_line(' > '.join(filter(None, [hit.title, section])))}")
    say(f"    {_scores(hit, low_confidence)}")
    for line in hit.content.splitlines():
        say(f"    {one_line(line)}")
    say("")


def _scores(hit: Hit, low_confidence: float) -> str:
    scores = [
        ("distance", hit.cosine_distance, ".3f"),
        ("bm25", hit.bm25, ".2f"),
        ("OCR confidence", hit.ocr_confidence, ".0f"),
    ]
    words = [f"{name} {value:{form}}" for name, value, form in scores if value is not None]
    if hit.ocr_confidence is not None and hit.ocr_confidence < low_confidence:
        words.append("read by OCR with low confidence: check the page")
    if hit.stale:
        words.append("stale: the document has a newer version that is not indexed")
    return ", ".join(words)
