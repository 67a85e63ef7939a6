"""Kept evaluations over HTTP, as their page shows them."""

from dataclasses import replace
from pathlib import Path

from storage.evaluations import keep
from tests.dashboard.conftest import reindex, serving
from tests.dashboard.test_sessions import HTML
from tests.storage.test_evaluations import RESULT


def test_evaluations_are_listed_by_set_and_opened_by_name(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("A text.")
    reindex(tmp_path / "index", tmp_path / "docs")
    stored = [keep(tmp_path / "index", replace(RESULT, version=version)) for version in (3, 7)]
    with serving(tmp_path / "index") as server, server.client() as client:
        (series,) = client.get("/evaluations").json()["series"]
        assert series["name"] == RESULT.set_name
        assert [one["name"] for one in series["evaluations"]] == [one.name for one in stored]
        told = client.get(f"/evaluations/{stored[1].name}").json()
        assert told["made"] == series["evaluations"][1] and told["cut"] == 4
        page = client.get(f"/ui/evaluation/{stored[1].name}", headers=HTML)
        assert page.status_code == 200
        assert all(one["question_id"] in page.text for one in [*told["lost"], *told["bluffs"]])
        for name in ("none", "..%2f..%2fledger", "000003-%00"):
            assert client.get(f"/evaluations/{name}").status_code == 404
