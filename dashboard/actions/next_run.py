"""When the schedule runs next, as Prefect reckons it (`prefect.server.schemas.schedules.CronSchedule`)."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from pincite.schemas.settings import Schedule

_LONGEST_SHIFT = timedelta(hours=3)  # of a clock that is set back
_MOST_LOOKED_AT = 500  # times within such a shift


def next_run(schedule: Schedule, now: float) -> datetime | None:
    """The first time behind `now` (seconds since the epoch), in the time zone of the schedule.

    Times are those of a clock on the wall: one that is skipped moves on by what was skipped, one that comes twice
    is the first. None without a schedule, and for one that is wrong or in words that only Prefect knows ("@daily").
    """
    if not schedule.cron:
        return None
    after = datetime.fromtimestamp(now, UTC)
    try:
        zone = ZoneInfo(schedule.timezone)
        wall = after.astimezone(zone).replace(tzinfo=None) - _LONGEST_SHIFT
        times = islice(CronSim(schedule.cron, wall), _MOST_LOOKED_AT)
        return next((at for one in times if (at := _localized(one, zone)) > after), None)
    except (CronSimError, ZoneInfoNotFoundError, ValueError):
        return None


def _localized(wall: datetime, zone: ZoneInfo) -> datetime:
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC).astimezone(zone)
