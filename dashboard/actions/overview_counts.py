"""The counts of the overview, the same on the page and over HTTP."""

from pincite.dashboard.state.serving import Serving
from pincite.storage.queries.overview import Overview

SHOWN_RUNS = 30  # of the trend


def overview_of(served: Serving) -> Overview:
    return served.overviews.now(served.current(), SHOWN_RUNS)
