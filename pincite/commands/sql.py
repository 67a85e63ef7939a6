"""`pincite sql`."""

import csv
import sys
from typing import Annotated

import typer

from pincite.console import DEFAULT_INDEX, IndexOption, JsonOption, print_json
from storage.index import Index
from storage.sql import query


def sql(
    statement: Annotated[
        str, typer.Argument(help="SQL over documents, failures, chunks, texts and postings.")
    ],
    index: IndexOption = DEFAULT_INDEX,
    json: JsonOption = False,
) -> None:
    """Ask the newest version in SQL (DuckDB, read only). Prints CSV, or JSON with --json."""
    with Index.open(index) as opened:
        table = query(opened, statement)
    if json:
        print_json(table.to_pylist())
        return
    writer = csv.writer(sys.stdout)
    writer.writerow(table.column_names)
    writer.writerows(row.values() for row in table.to_pylist())
