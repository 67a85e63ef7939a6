"""Hypothesis profiles: `fast` draws the same examples every time; `HYPOTHESIS_PROFILE=full` many new ones."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fast",
    derandomize=True,
    database=None,
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("full", database=None, max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
