"""The command line: `pincite COMMAND`, or `python -m pincite COMMAND`.

Exit codes: 0 all well, 1 some documents failed or a check fell short, 2 wrong use or a broken index, 3 no answer,
130 interrupted.
"""

import sys

import typer

from pincite.commands import ask, chunk, cite, index, inspect, report, search, sql, verify
from pincite.console import ExitCode, complain
from schemas.errors import PinciteError

app = typer.Typer(
    help="Index documents, search them, and get passages whose place can be checked.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    index.index,
    index.retry,
    report.status,
    report.documents,
    search.search,
    ask.ask,
    cite.cite,
    verify.verify,
    chunk.chunk,
    inspect.inspect,
    sql.sql,
):
    app.command()(command)


def main() -> None:
    try:
        app()
    except PinciteError as error:
        complain(str(error))
        sys.exit(ExitCode.WRONG_USE)
