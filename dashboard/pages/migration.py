"""Migration: how far one to another embedding model or chunker is, and what its gate said."""

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dashboard.serving import Served, Serving
from dashboard.templating import page
from storage.level import progress_of
from storage.lock import MIGRATION_FILE, holder
from storage.migration import blockers, newest_migration
from storage.spaces import spaces_of

MOST_BLOCKERS = 100
router = APIRouter(include_in_schema=False)


@router.get("/ui/migration")
async def show(request: Request, served: Served) -> Response:
    values = await served.work.run(lambda: _values(served))
    part = request.headers.get("hx-target") == "migration"
    template = "migration_state.html.j2" if part else "migration.html.j2"
    return page(request.scope, template, active="migration", **values)


def _values(served: Serving) -> dict[str, Any]:
    index = served.index
    migration = newest_migration(index)
    found = blockers(index, migration) if migration else ()
    gate = dict(migration.gate) if migration and migration.gate else {}
    return {
        "spaces": spaces_of(index),
        "migration": migration,
        "level": progress_of(index, migration) if migration else None,
        "blockers": found[:MOST_BLOCKERS],
        "gate": gate,
        "gate_json": json.dumps(gate, indent=2, sort_keys=True, ensure_ascii=False),
        "at_work": holder(index.path, MIGRATION_FILE),
    }
