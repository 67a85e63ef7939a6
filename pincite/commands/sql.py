"""`pincite sql`."""

import csv
import math
import sys
from decimal import Decimal
from typing import Annotated

import typer

from pincite.console import DEFAULT_INDEX, IndexOption, JsonOption, print_json
from pincite.storage.queries.sql import query
from pincite.storage.snapshots.index import Index
from pincite.time_travel_options import AtOption, VersionOption, former_moment


def sql(
    statement: Annotated[
        str, typer.Argument(help="SQL over documents, failures, chunks, texts and postings.")
    ],
    index: IndexOption = DEFAULT_INDEX,
    version: VersionOption = None,
    at: AtOption = None,
    json: JsonOption = False,
) -> None:
    """Ask the newest version, or a former one, in SQL (DuckDB, read only). Prints CSV, or JSON with --json."""
    with Index.open(index) as opened:
        table = query(opened, statement, moment=former_moment(opened, version, at))
    if json:
        print_json(_plain(table.to_pylist()))
        return
    writer = csv.writer(sys.stdout)
    writer.writerow(table.column_names)
    writer.writerows(row.values() for row in table.to_pylist())


def _plain(value: object) -> object:
    """The value as JSON can say it: sums of integers stay exact, times are text, NaN and infinity are null."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
