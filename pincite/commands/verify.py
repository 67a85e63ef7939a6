"""`pincite verify`."""

from dataclasses import asdict

import typer

from pincite.console import DEFAULT_INDEX, ExitCode, IndexOption, JsonOption, one_line, print_json, say
from pincite.storage.checks.verify import verify as verify_index
from pincite.storage.snapshots.index import Index


def verify(index: IndexOption = DEFAULT_INDEX, json: JsonOption = False) -> None:
    """Check every invariant on what is stored. Nothing is changed."""
    with Index.open(index) as opened:
        checks = verify_index(opened)
    if json:
        print_json({"checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            say(f"{'ok    ' if check.ok else 'BROKEN'} {check.name} ({check.count})")
            for problem in check.problems:
                say(f"         {one_line(problem)}")
    if not all(check.ok for check in checks):
        raise typer.Exit(ExitCode.FELL_SHORT)
