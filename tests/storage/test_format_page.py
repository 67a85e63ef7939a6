"""`docs/format.md` names the columns that are written, with their types."""

import re
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from pincite.schemas.tables import SEGMENT_SCHEMAS
from pincite.storage.ledger import schema
from pincite.storage.search_cache.array_file import FORMAT, map_file, read_contents
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.snapshots.index import Index
from tests.storage.building import fill, reindex

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")


def rows_below(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without their backticks."""
    _, _, rest = PAGE.partition(f"\n{heading}\n")
    assert rest, heading
    table = re.split(r"\n#", rest, maxsplit=1)[0]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("kind", SEGMENT_SCHEMAS)
def test_the_page_has_the_columns_of_a_segment(kind: str) -> None:
    told = [tuple(row[:3]) for row in rows_below(f"### Segment `{kind}`")]
    stored = [
        (field.name, re.sub(r"list<\w+: ", "list<", str(field.type)), "yes" if field.nullable else "no")
        for field in SEGMENT_SCHEMAS[kind]
    ]
    assert told == stored


@pytest.mark.parametrize("table", schema.metadata.tables.values(), ids=lambda table: table.name)
def test_the_page_has_the_columns_of_a_table_of_the_ledger(table: sa.Table) -> None:
    dialect = postgresql.dialect()
    told = [tuple(row[:3]) for row in rows_below(f"### Table `{table.name}`")]
    assert told == [
        (column.name, column.type.compile(dialect=dialect), "yes" if column.nullable else "no")
        for column in table.columns
    ]


def test_the_page_has_each_table_and_the_version_of_the_schema() -> None:
    assert re.findall(r"^### Table `(\w+)`$", PAGE, re.M) == list(schema.metadata.tables)
    assert f"Schema version {schema.SCHEMA_VERSION} " in PAGE


def test_the_page_has_the_sections_of_a_pack_and_its_end(tmp_path: Path) -> None:
    index = tmp_path / "index"
    reindex(index, fill(tmp_path / "docs", {"a.txt": "The pump hums."}))
    with Index.open(index) as opened:
        refresh_cache(opened)
    (pack,) = (index / "cache").glob("*.pack")
    data = map_file(pack)
    sections = read_contents(data)["sections"]
    told = {row[0]: row[1].partition("[")[0] for row in rows_below("## Packs of the search cache")[-15:]}
    assert told == {
        name: "bytes" if section["dtype"] == "|u1" else np.dtype(section["dtype"]).name
        for name, section in sections.items()
    }
    assert all(section["at"] % 64 == 0 for section in sections.values())
    assert bytes(data[-8:]) == FORMAT and f"`{FORMAT.decode()}`" in PAGE
    size = int.from_bytes(bytes(data[-20:-12]), "little")
    assert bytes(data[-20 - size : -20]).startswith(b'{"sections"')
