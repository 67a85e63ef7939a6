"""The pages of the dashboard, one module each."""

from fastapi import APIRouter


def routers() -> tuple[APIRouter, ...]:
    """All pages. They are no part of the described API."""
    from dashboard.pages import (
        document,
        documents,
        evaluation,
        events,
        login,
        migration,
        overview,
        runs,
        search,
        upload,
    )

    modules = (search, overview, events, runs, documents, upload, document, evaluation, migration, login)
    return tuple(module.router for module in modules)
