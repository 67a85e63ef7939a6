"""Tally: what `verify` looked at and what it found, check by check."""

from collections import Counter
from collections.abc import Iterable

from pincite.schemas.records import Check

SHOWN_PROBLEMS = 20


class Tally:
    """Counts what was looked at and keeps the first problems, by check, in the order in which checks came."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._problems: dict[str, list[str]] = {}

    def add(self, name: str, count: int, problems: Iterable[str] = ()) -> None:
        self._counts[name] += count
        shown = self._problems.setdefault(name, [])
        shown += list(problems)[: SHOWN_PROBLEMS - len(shown)]

    def checks(self) -> tuple[Check, ...]:
        return tuple(
            Check(name, not problems, self._counts[name], tuple(problems))
            for name, problems in self._problems.items()
        )
