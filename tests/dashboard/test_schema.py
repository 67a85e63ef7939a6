"""What the server does is what its OpenAPI document says, for requests that schemathesis makes up."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.dashboard.conftest import ROOT, reindex, serving

CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
KNOWN = {503}  # a reranker that is not on this machine, twenty orders that are open; as described
NO_PREFECT = {
    "PREFECT_API_URL": "http://127.0.0.1:9/api"
}  # orders are taken and lost: no run is started here

OPERATIONS = [
    ("POST", "/search"),
    ("GET", "/threshold"),
    ("POST", "/ask"),
    ("GET", "/documents"),
    ("POST", "/documents"),
    ("GET", "/documents/{document_id}"),
    ("PUT", "/documents/{document_id}/file"),
    ("GET", "/documents/{document_id}/passage"),
    ("GET", "/documents/{document_id}/attempts"),
    ("GET", "/documents/{document_id}/versions"),
    ("GET", "/documents/{document_id}/text"),
    ("GET", "/documents/{document_id}/chunks"),
    ("GET", "/documents/{document_id}/pages/{number}"),
    ("GET", "/runs"),
    ("POST", "/runs"),
    ("GET", "/runs/{run_id}"),
    ("POST", "/runs/{run_id}/cancel"),
    ("GET", "/orders"),
    ("GET", "/orders/{order_id}"),
    ("POST", "/orders/{order_id}/cancel"),
    ("POST", "/retry"),
    ("GET", "/overview"),
    ("GET", "/evaluations"),
    ("GET", "/evaluations/{name}"),
    ("GET", "/migration"),
    ("POST", "/migration"),
    ("POST", "/migration/switch"),
    ("POST", "/migration/rollback"),
    ("POST", "/migration/abort"),
    ("POST", "/migration/remove-old"),
    ("POST", "/migration/waive"),
    ("POST", "/migration/cancel"),
    ("GET", "/status"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
]


@dataclass(frozen=True, slots=True)
class Described:
    schema: Any
    known: dict[str, str]  # a parameter that names something which is there


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    """A server of its own, since what it holds is changed."""
    folder = tmp_path_factory.mktemp("described").resolve()
    docs, index = folder / "docs", folder / "index"
    docs.mkdir()
    (docs / "pump.md").write_text("# Pump\n\nThe pump has a mechanical seal.\n", encoding="utf-8")
    (docs / "nothing.txt").write_bytes(b"")
    reindex(index, docs)
    with serving(index, **NO_PREFECT) as server, server.client() as client:
        rows = {row["document"]: row["document_id"] for row in client.get("/documents").json()["documents"]}
        known = {
            "document_id": rows["pump.md"],
            "run_id": client.get("/runs").json()["runs"][0]["run_id"],
            "order_id": client.post("/runs").json()["order"],
            "number": "1",
        }
        yield Described(schemathesis.openapi.from_url(f"{server.url}/openapi.json"), known)
    strange = [path for path in folder.iterdir() if path.name not in ("docs", "index")]
    assert strange == [], "no upload left its collection"


def test_every_operation_is_tried(described: Described) -> None:
    operations = [one.ok() for one in described.schema.get_all_operations()]
    assert {(one.method.upper(), one.path) for one in operations} == set(OPERATIONS)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_response_is_as_described(described: Described, method: str, path: str) -> None:
    respond(described, method, path, {}, 8)


@pytest.mark.parametrize(("method", "path"), [one for one in OPERATIONS if "{" in one[1]])
def test_every_response_about_what_is_there_is_as_described(
    described: Described, method: str, path: str
) -> None:
    """An id that is made up names nothing."""
    named = {name: value for name, value in described.known.items() if f"{{{name}}}" in path}
    respond(described, method, path, named, 3)


@pytest.mark.parametrize("path", ["/runs", "/retry"])
def test_an_order_is_as_described(described: Described, path: str) -> None:
    case = described.schema[path]["POST"].Case(body={"collection": "docs"}, media_type="application/json")
    response = case.call(timeout=60)
    assert response.status_code in {202, *KNOWN}
    case.validate_response(response, checks=CHECKS)


def respond(described: Described, method: str, path: str, named: dict[str, str], examples: int) -> None:
    """Sends requests that are made up, to what `named` names by its ids."""

    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # a failure is told as it was found: shrinking takes minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described.schema[path][method].as_strategy())
    def sent(case: Any) -> None:
        case.path_parameters.update(named)
        response = case.call(timeout=60)
        assert response.status_code < 500 or response.status_code in KNOWN
        case.validate_response(response, checks=CHECKS)

    sent()


def test_the_docs_name_every_request_and_what_it_takes(client: httpx.Client) -> None:
    """Names of the API stand in code signs; a parameter that is none of the address in the row of its request."""
    text = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    for path, operations in client.get("/openapi.json").json()["paths"].items():
        for method, operation in operations.items():
            named = f"`{method.upper()} {path}`"
            row = next((one for one in rows if named in one), None)
            assert row is not None, named
            for parameter in operation.get("parameters", ()):
                if parameter["in"] != "header":
                    assert parameter["name"] in row, (named, parameter["name"])
    for path in re.findall(r"`(?:GET|POST|PUT) (/[^`?]*)`", text):
        assert path in {one for _, one in OPERATIONS}, f"{path} is no request"
