"""`pincite search`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pincite.commands.filter_options import Rerank, say_no, with_filters
from pincite.console import (
    DEFAULT_INDEX,
    ExitCode,
    IndexOption,
    JsonOption,
    one_line,
    print_json,
    say,
)
from pincite.schemas.locators import char_fragment
from pincite.schemas.records import Hit
from pincite.time_travel_options import AtOption, VersionOption, former_version

if TYPE_CHECKING:  # the help of the command needs no library of the search
    from pincite.retrieval.filters import Filters


@with_filters
def search(
    query: Annotated[str, typer.Argument(help="A question, or the words to find.")],
    index: IndexOption = DEFAULT_INDEX,
    mode: Annotated[
        Literal["hybrid", "dense", "bm25", "rrf"],
        typer.Option(help="How passages are ranked; rrf fuses the ranks of dense and bm25."),
    ] = "hybrid",
    k: Annotated[int, typer.Option("-k", min=1, help="How many passages at most.")] = 10,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=2.0, help="Keep only passages under this cosine distance, at most 4."),
    ] = None,
    rerank: Rerank = False,
    version: VersionOption = None,
    at: AtOption = None,
    json: JsonOption = False,
    *,
    filters: "Filters",
) -> None:
    """Find passages; each comes with the place where it stands."""
    from pincite.flows.settings import load_settings
    from pincite.retrieval.searcher import Searcher
    from pincite.retrieval.threshold import no_answer
    from pincite.storage.snapshots.index import Index

    settings = load_settings()
    with (
        Index.open(index) as opened,
        Searcher(opened, settings, former_version(opened, version, at)) as searcher,
    ):
        results = searcher.search(query, mode=mode, k=k, threshold=threshold, filters=filters, rerank=rerank)
    if json:
        hits = [asdict(hit) for hit in results.hits]
        print_json(
            {
                "query": query,
                "hits": hits,
                "refused": results.refused,
                "version": results.version,
                "searched": results.searched,
                "widened": {word: list(found) for word, found in results.widened.items()},
                "absent": list(results.absent),
                "offered": {word: list(meant) for word, meant in results.offered.items()},
                "evidence": results.evidence,
            }
        )
    else:
        for word, found in results.widened.items():
            say(f"for {word} also searched: {' '.join(found)}")
        for word, meant in results.offered.items():
            say(f"{word} stands nowhere; did you mean {' or '.join(meant)}?")
        for hit in results.hits:
            _show(hit, settings.ocr.low_confidence)
    if not results.hits:
        line = f'nothing found for "{one_line(query)}"'
        if threshold is not None:
            line = no_answer(one_line(query), threshold)
        refused = threshold is not None
        say_no(line, results.searched, filters, refused=refused, json=json, absent=results.absent)
        raise typer.Exit(ExitCode.NO_ANSWER)


def _show(hit: Hit, low_confidence: float) -> None:
    fragments = dict.fromkeys([hit.locator, char_fragment(hit.start, hit.end)])
    say(f"[{hit.rank}] {one_line(hit.document)} {' '.join(fragments)}")
    section = hit.section.removeprefix(hit.title).removeprefix(" > ")
    say(f"    {one_line(' > '.join(filter(None, [hit.title, section])))}")
    say(f"    {_scores(hit, low_confidence)}")
    if hit.folded:
        say(f"    nearly the same: {' '.join(hit.folded)}")
    if hit.copies:
        say(f"    the same in: {one_line(' '.join(hit.copies))}")
    for line in hit.content.splitlines():
        say(f"    {one_line(line)}")
    say("")


def _scores(hit: Hit, low_confidence: float) -> str:
    scores = [
        ("distance", hit.cosine_distance, ".3f"),
        ("bm25", hit.bm25, ".2f"),
        ("rerank", hit.rerank_score, ".2f"),
        ("rank before", hit.rank_before, "d"),
        ("OCR confidence", hit.ocr_confidence, ".0f"),
    ]
    words = [f"{name} {value:{form}}" for name, value, form in scores if value is not None]
    if hit.ocr_confidence is not None and hit.ocr_confidence < low_confidence:
        words.append("read by OCR with low confidence: check the page")
    if hit.stale:
        words.append(f"stale: {one_line(hit.stale_reason)}")
    if not hit.encoder_fit:
        words.append(
            "the embedding model can't read this document: ranked by its words, the distance says little"
        )
    return ", ".join(words)
