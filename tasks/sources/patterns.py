"""Patterns: which files of a source are documents of its collection.

Written as in `.gitignore` (https://git-scm.com/docs/gitignore): `*.pdf` is any PDF, `/top.txt` one file, `drafts/`
every folder of that name with all that is in it, `a/**/b` b at any depth below a, `!x` takes back. A file belongs
to the collection when `include` is empty or matches it, and `exclude` does not.
"""

from collections.abc import Sequence

import pathspec

from pincite.schemas.errors import UsageError


class Patterns:
    """The patterns of one collection. Raises `UsageError` for one that has no meaning."""

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._include = _compiled("include", include)
        self._exclude = _compiled("exclude", exclude)
        self._everything = not include

    def admit(self, path: str) -> bool:
        """Whether the file at this path, relative to the source, belongs to the collection."""
        if self._exclude.match_file(path):
            return False
        return self._everything or bool(self._include.match_file(path))

    def bar(self, folder: str) -> bool:
        """Whether all below this folder, given as "name/", is excluded: it is not even listed."""
        return bool(self._exclude.match_file(folder))


def _compiled(name: str, patterns: Sequence[str]) -> pathspec.GitIgnoreSpec:
    try:
        return pathspec.GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise UsageError(f"{name}: {error}. Patterns are written as in .gitignore") from error
