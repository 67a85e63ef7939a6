"""`pincite ask`."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from pincite.commands.filter_options import Rerank, say_no, with_filters
from pincite.console import (
    DEFAULT_INDEX,
    ExitCode,
    IndexOption,
    JsonOption,
    complain,
    console,
    one_line,
    print_json,
    say,
    shown,
)
from pincite.flows.settings import load_settings
from pincite.output import check_target, write_whole
from pincite.retrieval.answers.annotations import annotation, annotation_page
from pincite.retrieval.answers.ask import AskOutcome, why_refused
from pincite.retrieval.answers.ask import ask as ask_index
from pincite.retrieval.answers.citations import Citation
from pincite.retrieval.answers.llm_client import KEY_VARIABLE, Endpoint, endpoint_of, stream_answer
from pincite.retrieval.answers.resolve import Resolved, Unresolved, resolve
from pincite.retrieval.filters import Filters
from pincite.retrieval.searcher import Searcher
from pincite.retrieval.threshold import MOST_PASSAGES
from pincite.schemas.errors import AnswerFailed
from pincite.schemas.locators import char_fragment
from pincite.storage.snapshots.index import Index
from pincite.time_travel_options import AtOption, VersionOption, former_version


@with_filters
def ask(
    question: Annotated[str, typer.Argument(help="A question.")],
    index: IndexOption = DEFAULT_INDEX,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=2.0,
            help="Use only passages under this cosine distance; else under the index's own threshold.",
        ),
    ] = None,
    mode: Annotated[Literal["hybrid", "dense"], typer.Option(help="Which rankings are used.")] = "hybrid",
    k: Annotated[int, typer.Option("-k", min=1, max=MOST_PASSAGES, help="How many passages at most.")] = (
        MOST_PASSAGES
    ),
    rerank: Rerank = False,
    version: VersionOption = None,
    at: AtOption = None,
    annotations: Annotated[
        Path | None, typer.Option(help="Write the citations as W3C Web Annotations (JSON-LD).")
    ] = None,
    json: JsonOption = False,
    *,
    filters: Filters,
) -> None:
    """Answer from at most four passages, or say no; with citations that were checked.

    Without an endpoint in the settings ([answer] base_url, model) it prints the prompt and its citations.
    """
    check_target(annotations)
    settings = load_settings()
    endpoint = endpoint_of(settings.answer, os.environ.get(KEY_VARIABLE, ""))
    with (
        Index.open(index) as opened,
        Searcher(opened, settings, former_version(opened, version, at)) as searcher,
    ):
        asked = ask_index(searcher, question, threshold, mode, k, filters=filters, rerank=rerank)
    if asked.doubt:
        complain(f"warning: {asked.doubt}")
    if asked.refused:
        if json:
            _print_json(asked, None, None)
        say_no(why_refused(asked), asked.searched, filters, refused=True, json=json, absent=asked.absent)
        raise typer.Exit(ExitCode.NO_ANSWER)
    if annotations is not None:
        _write_annotations(annotations, asked)
    resolved = (_as_json if json else _as_text)(asked, endpoint)
    for one in asked.unproved:
        complain(f"NOT VERIFIED: {one_line(one.reason)}")
    if resolved and any(one.kind in ("number", "link") for one in resolved.unresolved):
        complain("INVENTED: the answer names a source or an address that it was not given")
        raise typer.Exit(ExitCode.INVENTED)
    if asked.unproved:
        raise typer.Exit(ExitCode.FELL_SHORT)


def _as_json(asked: AskOutcome, endpoint: Endpoint | None) -> Resolved | None:
    """Prints the result also when the endpoint fails: the citations are good without an answer."""
    answer: str | None = None
    if endpoint is not None:
        try:
            answer = "".join(stream_answer(endpoint, asked.prompt or ""))
        except AnswerFailed as error:
            _print_json(asked, None, None, str(error))
            raise
    resolved = resolve(answer, asked.citations) if answer is not None else None
    _print_json(asked, answer, resolved)
    return resolved


def _print_json(
    asked: AskOutcome, answer: str | None, resolved: Resolved | None, error: str | None = None
) -> None:
    unresolved = [*asked.unproved, *(resolved.unresolved if resolved else ())]
    print_json(
        {
            "question": asked.question,
            "answer": answer,
            "refused": asked.refused,
            "refusal": asked.refusal or None,
            "evidence": asked.evidence,
            "absent": list(asked.absent),
            "prompt": asked.prompt,
            "citations": [asdict(one) for one in asked.citations],
            "cited": list(resolved.cited) if resolved else [],
            "unresolved": [asdict(one) for one in unresolved],
            "threshold": asked.threshold,
            "threshold_doubt": asked.doubt or None,
            "searched": asked.searched,
            "version": asked.version,
            "error": error,
        }
    )


def _as_text(asked: AskOutcome, endpoint: Endpoint | None) -> Resolved | None:
    if endpoint is None:
        say(shown(asked.prompt or ""))
        say("")
        _show_citations(asked.citations, ())  # the prompt holds their words
        return None
    pieces: list[str] = []
    try:
        for piece in stream_answer(endpoint, asked.prompt or ""):
            console.print(Text(shown(piece)), end="", soft_wrap=True)
            pieces.append(piece)
    except AnswerFailed:
        say("\n[the answer breaks off here]\n" if pieces else "")
        _show_citations(asked.citations, ())
        raise
    say("\n")
    resolved = resolve("".join(pieces), asked.citations)
    _show_citations(asked.citations, resolved.cited)
    _show_unresolved(resolved.unresolved)
    return resolved


def _show_citations(citations: Sequence[Citation], quoted: Sequence[int]) -> None:
    """The table; with their words those that the answer cites."""
    for one in citations:
        fragments = " ".join(dict.fromkeys([one.locator, char_fragment(one.start, one.end)]))
        distance = "" if one.cosine_distance is None else f", distance {one.cosine_distance:.3f}"
        state = (
            "verified" if one.verified else "NOT VERIFIED: its words are not at this place of the document"
        )
        say(f"[{one.index}] {one_line(one.document)} {fragments}{distance}, {state}")
        say(f"    {one_line(one.label)}")
        if one.index in quoted:
            for line in one.quote.splitlines():
                say(f"    {one_line(line)}")
        say("")


def _show_unresolved(unresolved: Sequence[Unresolved]) -> None:
    if not unresolved:
        return
    say("Without a source:")
    for one in unresolved:
        say(f"  {one.kind} {one_line(one.text)} ({one_line(one.reason)})")


def _write_annotations(target: Path, asked: AskOutcome) -> None:
    """The verified citations: a selector for words that are not there would be a lie."""
    made = [
        annotation(asked.texts[one.index], one.start, one.end, one.locator)
        for one in asked.citations
        if one.verified
    ]
    write_whole(target, dumps(annotation_page(made), ensure_ascii=False, indent=2) + "\n")
