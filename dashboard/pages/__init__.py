"""The pages of the dashboard, one module each."""

from fastapi import APIRouter
from starlette.routing import BaseRoute


def routers() -> tuple[APIRouter, ...]:
    """All pages. They are no part of the described API."""
    from pincite.dashboard.pages import (
        document,
        documents,
        evaluation,
        events,
        login,
        migration,
        overview,
        runs,
        upload,
    )

    modules = (overview, events, runs, documents, upload, document, evaluation, migration, login)
    return tuple(module.router for module in modules)


def routes() -> tuple[BaseRoute, ...]:
    """Pages that come before the routers, which each take 10 µs of a short request until one of them knows it."""
    from pincite.dashboard.pages import search

    return search.ROUTES
