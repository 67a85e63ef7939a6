"""The counts of the overview, the same on the page and over HTTP."""

from dashboard.serving import Serving
from storage.overview import Overview, overview

SHOWN_RUNS = 30  # of the trend


def overview_of(served: Serving) -> Overview:
    return overview(served.index, served.current(), SHOWN_RUNS)
