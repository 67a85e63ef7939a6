"""The filters as options, the same for every command that searches."""

import functools
import inspect
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite.console import complain, say

if TYPE_CHECKING:  # the help of a command needs no library of the search
    from pincite.retrieval.filters import Filters

Rerank = Annotated[
    bool, typer.Option("--rerank", help="A cross-encoder reorders the first 25 (setting `reranker`).")
]
_DATES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"]
_OPTIONS: dict[str, Any] = {
    "documents": Annotated[
        list[str] | None,
        typer.Option("--document", help="Only documents of this path, or a glob of it; repeatable."),
    ],
    "folders": Annotated[
        list[str] | None, typer.Option("--folder", help="Only what lies below it; repeatable.")
    ],
    "types": Annotated[
        list[str] | None,
        typer.Option("--type", help="Only this suffix or media type: pdf, text/*; repeatable."),
    ],
    "modified_since": Annotated[
        datetime | None,
        typer.Option(formats=_DATES, help="Only files modified then or later (local time)."),
    ],
    "modified_before": Annotated[
        datetime | None, typer.Option(formats=_DATES, help="Only files modified earlier.")
    ],
    "min_ocr_confidence": Annotated[
        float | None,
        typer.Option(
            min=0, max=100, help="Only passages that OCR read with this confidence, or that needed none."
        ),
    ],
    "languages": Annotated[
        list[str] | None,
        typer.Option(
            "--language", help="Only documents in it: uk, sv, … (ISO 639-1), or unknown; repeatable."
        ),
    ],
    "collections": Annotated[
        list[str] | None, typer.Option("--collection", help="Only documents of this collection; repeatable.")
    ],
}
"""By field of `Filters`."""


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with an option for each filter in place of its parameter `filters`."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        from pincite.retrieval.filters import Filters

        chosen = {name: given.pop(name) for name in _OPTIONS}
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in chosen.items()
            if value is not None
        }
        command(**given, filters=Filters(**fields))

    own = [one for one in inspect.signature(command).parameters.values() if one.name != "filters"]
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(name, keyword, default=None, annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]
    signature = inspect.Signature([*(one.replace(kind=keyword) for one in own), *options])
    run.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
    run.__signature__ = signature  # type: ignore[attr-defined]  # what typer reads
    return run


def say_no(
    line: str,
    searched: int,
    filters: "Filters",
    *,
    refused: bool,
    json: bool,
    absent: Sequence[str] = (),
) -> None:
    """Says by this line that nothing was found, and on stderr whether the filters left nothing to search.

    A refusal is the answer: it stands alone on stdout, as the contract writes it, unless JSON stands there.
    """
    from pincite.retrieval.filters import NO_FILTERS

    for word in absent:
        complain(f"{word} occurs nowhere in the index")
    if filters != NO_FILTERS and not searched:
        complain("no passage of the index passes the filters: see `pincite documents` for what there is")
        if filters.languages:
            complain(
                "a document whose language could not be told, or that was indexed before languages were told and "
                "not read since, is found with --language unknown"
            )
    if refused and not json:
        say(line)
    else:
        complain(line)
