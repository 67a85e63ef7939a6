"""`pincite export` and `pincite import`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from pincite.console import DEFAULT_INDEX, IndexOption, JsonOption, print_json, say
from pincite.schemas.counting import counted
from pincite.schemas.errors import UsageError
from pincite.storage.maintenance.export_import import export_index, export_parquet, import_index
from pincite.storage.snapshots.index import Index
from pincite.time_travel_options import AtOption, VersionOption, former_moment


def export(
    target: Annotated[Path, typer.Argument(help="The file to write; with --parquet the folder.")],
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Only the live rows of one version, as plain Parquet files.")
    ] = False,
    version: VersionOption = None,
    at: AtOption = None,
    index: IndexOption = DEFAULT_INDEX,
    json: JsonOption = False,
) -> None:
    """Write the whole index to one file, or one version as Parquet for other programs. Runs may go on meanwhile."""
    if not parquet and (version is not None or at is not None):
        raise UsageError(
            "an export of the whole index has all versions: --version and --at go with --parquet"
        )
    with Index.open(index) as opened:
        if parquet:
            moment = former_moment(opened, version, at)
            rows = export_parquet(opened, target, moment.version if moment else None)
            print_json(rows) if json else say(
                ", ".join(counted(count, name.removesuffix("s")) for name, count in rows.items())
            )
            return
        done = export_index(opened, target)
    print_json(asdict(done)) if json else say(
        f"version {done.version}, {counted(done.segments, 'segment')}, {decimal(done.size_bytes)}, in {target}"
    )


def import_(
    source: Annotated[Path, typer.Argument(help="A file that `pincite export` wrote.")],
    index: IndexOption = DEFAULT_INDEX,
    json: JsonOption = False,
) -> None:
    """Make an index of an exported file. Every checksum is compared; a half or changed file is refused."""
    done = import_index(source, index)
    print_json(asdict(done)) if json else say(
        f"version {done.version}, {counted(done.segments, 'segment')}, {decimal(done.size_bytes)}, in {index}"
    )
