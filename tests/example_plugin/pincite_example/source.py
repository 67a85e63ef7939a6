"""shelf:///a/folder: a store that fsspec does not know, here a folder behind another name."""

from typing import Any

from fsspec.implementations.local import LocalFileSystem


def open_shelf(url: str) -> tuple[Any, str]:
    path = url.removeprefix("shelf://")
    if not path.startswith("/"):
        raise ValueError("a shelf is named as shelf:///FOLDER")
    return LocalFileSystem(), path
