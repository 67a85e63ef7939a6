"""Time travel: the options `--version` and `--at`, and what people write as a time.

2026-11-24                    what the index said at the end of that day, local time
2026-11-24T18:30, 2026-11-24 18:30:05+02:00
yesterday, last tuesday       at the end of that day
3 hours ago, 2 weeks ago
"""

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.schemas.errors import UsageError

if TYPE_CHECKING:  # the help of a command needs no ledger
    from pincite.storage.ledger.versions import Moment
    from pincite.storage.snapshots.index import Index

VersionOption = Annotated[
    int | None, typer.Option("--version", min=0, help="What the index said at this version.")
]
AtOption = Annotated[
    str | None,
    typer.Option(
        "--at", help="What the index said then: 2026-11-24, 2026-11-24T18:30, last tuesday, 2 days ago."
    ),
]


def former_moment(index: "Index", version: int | None, at: str | None) -> "Moment | None":
    """The moment that the options name; None for none. Raises `UsageError` for both, or for what is not kept."""
    if version is None and at is None:
        return None
    return index.moment(version, end_of(at))


def former_version(index: "Index", version: int | None, at: str | None) -> int | None:
    """The same as a version; the one that is named is not looked for."""
    moment = None if at is None else former_moment(index, version, at)
    return moment.version if moment else version


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS = {"minute": 60.0, "hour": 3_600.0, "day": 86_400.0, "week": 604_800.0}
_AGO = re.compile(r"(?P<count>\d{1,6}) (?P<unit>minute|hour|day|week)s? ago")
_WEEKDAY = re.compile(rf"(?:last |on )?(?P<day>{'|'.join(_DAYS)})")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}|\d{4}-W\d{2}-\d")


def end_of(at: str | None, now: datetime | None = None) -> float | None:
    """Until when what the index was told counts, exclusive, in seconds since the epoch; None without `at`.

    A day counts to its end. A time without a zone is local. Raises `UsageError` for what is no time.
    """
    if at is None:
        return None
    now = (now or datetime.now()).astimezone()
    text = " ".join(at.lower().split())
    if text == "now":
        return now.timestamp()
    if match := _AGO.fullmatch(text):
        return now.timestamp() - int(match["count"]) * _UNITS[match["unit"]]
    day = _day(text, now)
    if day is not None:
        following = day.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None) + timedelta(days=1)
        return following.astimezone().timestamp()
    try:
        return datetime.fromisoformat(at.strip()).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{at!r} is no time: write a date (2026-11-24), a date and time (2026-11-24T18:30), "
            "yesterday, last tuesday, or 2 days ago"
        ) from error


def _day(text: str, now: datetime) -> datetime | None:
    """The day that is meant, at any time of it; None when it is no day."""
    if text in ("today", "yesterday"):
        return now - timedelta(days=text == "yesterday")
    if match := _WEEKDAY.fullmatch(text):
        return now - timedelta(days=(now.weekday() - _DAYS.index(match["day"]) - 1) % 7 + 1)
    if _DATE.fullmatch(text.upper()):
        try:
            return datetime.fromisoformat(text.upper())
        except ValueError:
            return None
    return None
