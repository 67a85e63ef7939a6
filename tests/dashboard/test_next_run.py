"""The next run that the overview names is the one that Prefect schedules."""

import asyncio
from datetime import UTC, datetime

import pytest
from prefect.server.schemas.schedules import CronSchedule

from pincite.dashboard.actions.next_run import next_run
from pincite.schemas.settings import Schedule

NIGHTS = [  # 29 March and 25 October 2026 the clocks of Kyiv are set, 8 March and 1 November those of New York
    datetime(2026, month, day, hour, minute, 7, tzinfo=UTC)
    for month, day in ((3, 8), (3, 28), (3, 29), (6, 1), (10, 24), (10, 25), (11, 1), (12, 31))
    for hour, minute in ((0, 0), (0, 45), (1, 20), (5, 59), (6, 31), (23, 0))
]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Kyiv", "America/New_York"])
@pytest.mark.parametrize(
    "cron", ["0 2 * * *", "30 2 * * *", "30 3 * * 0", "*/20 * * * *", "15 1 1,15 * 5", "0 9 29 2 *"]
)
def test_the_next_run_is_the_one_that_prefect_schedules(cron: str, zone: str) -> None:
    theirs = CronSchedule(cron=cron, timezone=zone)
    for now in NIGHTS:
        (expected,) = asyncio.run(theirs.get_dates(1, start=now))
        found = next_run(Schedule(cron, zone), now.timestamp())
        assert found and found.astimezone(UTC) == expected.astimezone(UTC), now


def test_without_a_schedule_and_in_other_words_there_is_no_time() -> None:
    assert next_run(Schedule(), 0.0) is None and next_run(Schedule("@daily"), 0.0) is None
