"""Standing: what is to be done with each document, decided from what the ledger and the source say."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from pincite.schemas.records import Policy, SourceFile
from pincite.schemas.retrying import LOST

Row = Mapping[str, Any]  # of `documents`, with live_sha256, live_recipe and title_from_name of what is live


@dataclass(frozen=True, slots=True)
class Standing:
    word: Literal["unchanged", "failed", "changed", "stale", "retried"]
    anew: bool = False  # attempts count from 0 again

    @property
    def due(self) -> bool:
        """Whether the document is to be handed out."""
        return self.word in ("changed", "stale", "retried")


def standing_of(row: Row, file: SourceFile, policy: Policy) -> Standing:
    """How a known document stands, now that its file is as `file` says."""
    if file.unreadable:
        return Standing("failed")
    if file.sha256 == row["live_sha256"] and _is_current(row, policy):
        return Standing(
            "unchanged"
        )  # also one that failed meanwhile: out of sight for a while, or changed back
    if file.sha256 != row["sha256"]:
        return Standing("changed", anew=True)
    if row["state"] == "indexed":
        return Standing("stale", anew=True)
    if row["state"] == "failed" or row["kind"] == LOST:
        return _standing_of_failed(row, policy)
    return Standing("retried")


def _is_current(row: Row, policy: Policy) -> bool:
    """Whether what is live was extracted as it would be now."""
    now = policy.extractors.get(row["live_extractor"])
    return row["live_recipe"] == policy.recipe and now in (None, row["live_extractor_version"])


def _standing_of_failed(row: Row, policy: Policy) -> Standing:
    if row["stage"] == "discover" or _asked(row, policy) or _other_settings(row, policy):
        return Standing("retried", anew=True)
    # One more for a document whose run was killed: it is handed out alone then, before it is blamed.
    most = policy.attempts + (row["kind"] == LOST)
    may_pass = row["transient"] and row["attempts"] < most
    return Standing("retried" if may_pass and not _waits(row, policy) else "failed")


def _waits(row: Row, policy: Policy) -> bool:
    return policy.now is not None and (row["not_before"] or 0.0) > policy.now


def _asked(row: Row, policy: Policy) -> bool:
    chosen = policy.retry
    return chosen is not None and (not chosen or row["path"] in chosen or row["document_id"] in chosen)


def _other_settings(row: Row, policy: Policy) -> bool:
    return bool((row["recipe"], row["limits"]) != (policy.recipe, policy.limits_of(row["path"])))


@dataclass(frozen=True, slots=True)
class Matches:
    """Documents and files of one source, each exactly once. Sorted by path."""

    kept: tuple[tuple[Row, SourceFile], ...]
    renamed: tuple[tuple[Row, SourceFile], ...]
    gone: tuple[Row, ...]
    fresh: tuple[SourceFile, ...]


def match(rows: Mapping[str, Row], files: Iterable[SourceFile]) -> Matches:
    """Which file is which document.

    A file under another path with the bytes that a document had is that document renamed, if the document is
    no longer at its own path. So swaps and chains of names are seen, and no text is extracted twice.
    """
    seen = {file.path: file for file in sorted(files, key=lambda file: file.path)}
    renamed = _renamed(rows, seen)
    moved = {row["path"] for row, _ in renamed}
    taken = {file.path for _, file in renamed}
    return Matches(
        kept=tuple(
            (rows[path], file)
            for path, file in seen.items()
            if path in rows and path not in moved and path not in taken
        ),
        renamed=renamed,
        gone=tuple(
            rows[path] for path in sorted(rows) if path not in moved and (path not in seen or path in taken)
        ),
        fresh=tuple(
            file for path, file in seen.items() if path not in taken and (path not in rows or path in moved)
        ),
    )


def _renamed(rows: Mapping[str, Row], seen: Mapping[str, SourceFile]) -> tuple[tuple[Row, SourceFile], ...]:
    homeless: dict[tuple[str, str], deque[Row]] = defaultdict(deque)
    for path in sorted(rows):
        here = seen.get(path)
        left = here is None or here.sha256 not in ("", rows[path]["sha256"])
        if left and _can_move(rows[path]):
            homeless[_likeness(path, rows[path]["sha256"])].append(rows[path])
    renamed = []
    for path, file in seen.items():
        same = path in rows and rows[path]["sha256"] == file.sha256
        if file.sha256 and not same and (waiting := homeless.get(_likeness(path, file.sha256))):
            renamed.append((waiting.popleft(), file))
    return tuple(renamed)


def _can_move(row: Row) -> bool:
    """Whether all that is stored of a document stays right under another name: no title was made from it."""
    whole = row["state"] == "indexed" and row["sha256"] == row["live_sha256"]
    return whole and row["title_from_name"] is False


def _likeness(path: str, sha256: str) -> tuple[str, str]:
    return sha256, PurePosixPath(path).suffix  # by which the format was judged
