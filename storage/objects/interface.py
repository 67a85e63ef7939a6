"""Object store: where segments lie. A folder of a disk is the one that there is (`local`)."""

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa


class ObjectStore(Protocol):
    """Files that are written once, under names as "segments/texts/ab12.parquet".

    What an index holds is said by the ledger alone: a store may list an object late, or one that nobody claims.
    """

    def put(self, name: str, data: pa.Buffer) -> None:
        """The whole object appears under its name, and survives a loss of power when this returns.

        One PUT of a bucket, or a file that is written under another name, synced and renamed.
        """
        ...

    def open(self, name: str) -> pa.NativeFile:
        """The object's bytes, to be read from any place. Raises `FileNotFoundError`."""
        ...

    def size_bytes(self, name: str) -> int | None:
        """None where there is no such object."""
        ...

    def delete(self, name: str) -> None:
        """No object has the name when this returns; one that is not there is no error."""
        ...

    def names(self, prefix: str) -> Iterator[str]:
        """What lies below a prefix, in any order, also what a killed writer left: for a sweep."""
        ...

    def address(self, name: str) -> str:
        """How a program that reads by itself (DuckDB) names the object."""
        ...
