"""A run that was asked for on the dashboard is cancelled while its document hangs, however that is asked."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.dashboard.conftest import reindex, serving

HANGING = {"PINCITE_EXTRACTORS": '{".fault": "tests.doubles.faults:extract_by_first_word"}'}


@pytest.mark.parametrize("by", ["order", "run"])
def test_a_run_that_was_asked_for_is_cancelled_at_its_work(tmp_path: Path, by: str) -> None:
    docs, index = (tmp_path / "docs").resolve(), tmp_path / "index"
    docs.mkdir()
    (docs / "a.txt").write_text("The text of a document.")
    reindex(index, docs)
    (docs / "b.fault").write_text("hang")
    with serving(index, **HANGING) as server, server.client() as client:
        order = client.post("/runs").json()["order"]
        run = seen(lambda: at_work(client))
        path = f"/orders/{order}" if by == "order" else f"/runs/{run}"
        assert client.post(f"{path}/cancel").status_code == 202
        told = seen(lambda: over(client, order))
        assert (told["state"], told["message"]) == ("Cancelled", "interrupted: what it had finished stays")
        ended = client.get(f"/runs/{run}").json()
        assert ended["state"] == "broken" and "interrupted, as by a cancel" in ended["message"]
        states = {one["document"]: one["state"] for one in client.get("/documents").json()["documents"]}
        assert set(states.values()) == {"pending"}, "no document is blamed"


def seen(look: Callable[[], Any]) -> Any:
    until = time.monotonic() + 120
    while (told := look()) is None:
        assert time.monotonic() < until
        time.sleep(0.1)
    return told


def at_work(client: httpx.Client) -> str | None:
    """The run, once its document is being read."""
    running = client.get("/overview").json()["running"]
    states = {one["document"]: one["state"] for one in client.get("/documents").json()["documents"]}
    return running["run_id"] if running and states.get("b.fault") == "running" else None


def over(client: httpx.Client, order: str) -> dict[str, str] | None:
    told: dict[str, str] = client.get(f"/orders/{order}").json()
    return told if told["over"] else None
