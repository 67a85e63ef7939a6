"""What the server does is what its OpenAPI document says, for requests that schemathesis makes up."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.dashboard.conftest import Server

CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
KNOWN = {503}  # a reranker that is not on this machine, as described


OPERATIONS = [
    ("POST", "/search"),
    ("POST", "/ask"),
    ("GET", "/documents"),
    ("GET", "/documents/{document_id}"),
    ("GET", "/documents/{document_id}/passage"),
    ("GET", "/status"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
]


@pytest.fixture(scope="session")
def described(server: Server) -> Any:
    return schemathesis.openapi.from_url(f"{server.url}/openapi.json")


def test_every_operation_is_tried(described: Any) -> None:
    operations = [one.ok() for one in described.get_all_operations()]
    assert {(one.method.upper(), one.path) for one in operations} == set(OPERATIONS)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_response_is_as_described(described: Any, method: str, path: str) -> None:
    @settings(
        max_examples=12,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # a failure is told as it was found: shrinking takes minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described[path][method].as_strategy())
    def respond(case: Any) -> None:
        response = case.call(timeout=60)
        assert response.status_code < 500 or response.status_code in KNOWN
        case.validate_response(response, checks=CHECKS)

    respond()
