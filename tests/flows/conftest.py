"""One embedded Prefect server for all tests of flows in this process."""

from collections.abc import Iterator

import pytest

from pincite.flows.prefect_server.server import prefect_api


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prefect_api(tmp_path_factory.mktemp("prefect")) as url:
        yield url
