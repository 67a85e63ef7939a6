"""What only one database understands stands on its side, and the schema is one that others can hold."""

import re

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from pincite.storage.ledger import schema
from tests.test_layout import ROOMS, ROOT

SIDES = {"storage/ledger/sqlite.py", "storage/ledger/upgrades.py"}
OF_PREFECT = {"flows/prefect_server/process.py"}
"""Copies the database of Prefect's own server."""

ONLY_SQLITE = re.compile(
    r"\bPRAGMA\b|\bVACUUM\b|\bsqlite3\b|exec_driver_sql|wal_checkpoint|\bBEGIN IMMEDIATE\b"
)


def test_no_statement_that_only_sqlite_understands_stands_outside_of_its_side() -> None:
    files = {path for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    users = {
        path.resolve().relative_to(ROOT).as_posix()
        for path in files
        if ONLY_SQLITE.search(path.read_text("utf-8"))
    }
    assert users - OF_PREFECT == SIDES


def test_bytes_and_nanoseconds_have_64_bits_in_any_database_and_sqlite_keeps_its_column_types() -> None:
    long = re.compile(r"_ns$|_bytes$")
    found = 0
    for table in schema.metadata.sorted_tables:
        ddl = {
            one.name: str(CreateTable(table).compile(dialect=one))
            for one in (postgresql.dialect(), sqlite.dialect())
        }
        assert "BIGINT" not in ddl["sqlite"]
        for index in table.indexes:
            assert str(CreateIndex(index).compile(dialect=postgresql.dialect()))
        for column in table.columns:
            if long.search(column.name):
                found += 1
                assert re.search(rf"\b{column.name} BIGINT\b", ddl["postgresql"]), column
    assert found == 4
