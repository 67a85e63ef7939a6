"""`pincite questions check` and `pincite questions import`: sets of questions with their ground truth."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pincite.console import DEFAULT_INDEX, ExitCode, IndexOption, JsonOption, one_line, print_json, say
from pincite.evaluation.checking import check as check_questions
from pincite.evaluation.importers import FORMATS, write_imported
from pincite.evaluation.questions import read_questions
from pincite.schemas.counting import counted
from pincite.schemas.errors import UsageError
from pincite.storage.snapshots.index import Index


def check(
    questions: Annotated[
        Path, typer.Argument(help="A set: JSON lines with question and `needle`, the expected sentence.")
    ],
    index: IndexOption = DEFAULT_INDEX,
    json: JsonOption = False,
) -> None:
    """Check that each expected sentence stands in the index exactly once and is no heading."""
    asked = read_questions(questions)
    with Index.open(index) as opened:
        faults = check_questions(opened, asked)
    total = len(asked.questions)
    answerable = sum(one.answerable for one in asked.questions)
    if json:
        counts = {"questions": total, "answerable": answerable, "to_be_refused": total - answerable}
        print_json({**counts, "faults": [asdict(fault) for fault in faults]})
    else:
        for fault in faults:
            say(f"{one_line(fault.id)}: {one_line(fault.reason)}")
        say(
            f"{counted(total, 'question')}: {answerable} with an answer, {total - answerable} that must be refused; "
            f"{len(faults)} with a fault"
        )
    if faults:
        raise typer.Exit(ExitCode.FELL_SHORT)


def import_set(
    source: Annotated[Path, typer.Argument(help="The published file, or the folder of a BEIR set.")],
    format: Annotated[str, typer.Option(help="squad, beir or financebench.")],
    documents: Annotated[Path, typer.Option(help="A new folder for the documents; index it afterwards.")],
    questions: Annotated[Path, typer.Option(help="The file of questions to write.")],
    split: Annotated[str, typer.Option(help="Of BEIR: the qrels to take; test if there is one.")] = "",
    source_documents: Annotated[
        Path | None, typer.Option(help="Of FinanceBench: the folder of PDFs.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Turn a published set into documents to index and questions to ask."""
    if format not in FORMATS:
        raise UsageError(f"unknown format {format!r}; choose one of {', '.join(FORMATS)}")
    imported = FORMATS[format](source, split, source_documents)
    write_imported(imported, documents, questions)
    counts = {"documents": len(imported.documents), "questions": len(imported.questions)}
    if json:
        print_json({**counts, "left_out": list(imported.left_out)})
        return
    for reason in imported.left_out:
        say(f"left out {one_line(reason)}")
    say(f"documents: {counts['documents']} in {documents}, questions: {counts['questions']} in {questions}")
    say(f"next: pincite index {documents}, then pincite questions check {questions}")
