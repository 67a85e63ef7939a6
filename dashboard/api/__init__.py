"""The HTTP API, one module for each kind of thing."""

from fastapi import APIRouter


def routers() -> tuple[APIRouter, ...]:
    """All of it, as /openapi.json describes it."""
    from pincite.dashboard.api import (
        ask,
        document_parts,
        documents,
        evaluations,
        migration,
        overview,
        runs,
        search,
        status,
        uploads,
    )

    modules = (
        search,
        ask,
        documents,
        document_parts,
        uploads,
        runs,
        overview,
        evaluations,
        migration,
        status,
    )
    return tuple(module.router for module in modules)
