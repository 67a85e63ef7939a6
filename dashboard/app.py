"""The web application: one factory for the HTTP API, the pages of the dashboard and MCP."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from mcp.server.transport_security import TransportSecuritySettings
from starlette.staticfiles import StaticFiles

from pincite.dashboard import api, pages
from pincite.dashboard.actions.upload_files import sweep
from pincite.dashboard.http import problems
from pincite.dashboard.http.access import Access
from pincite.dashboard.http.bodies import BodyLimits
from pincite.dashboard.http.guard import Guard
from pincite.dashboard.http.problem_page import problem_response
from pincite.dashboard.http.session_store import SessionStore
from pincite.dashboard.mcp_server import create_mcp
from pincite.dashboard.state.progress_feed import Feed, live_of
from pincite.dashboard.state.serving import Serving
from pincite.dashboard.state.thread_pool import Work
from pincite.retrieval.answers.llm_client import endpoint_of
from pincite.schemas.settings import Settings
from pincite.storage.runs.collections import read_collections

VERSION = "1"  # of the API


def create_app(
    path: Path,
    settings: Settings,
    access: Access,
    *,
    answer_key: str = "",
    threads: int = 8,
    timeout_s: float = 60.0,
    body_limits: BodyLimits | None = None,
    loads_model: bool = False,
) -> FastAPI:
    """The application over the index at `path`, which is opened when the server starts.

    `threads`: how many requests are worked on at once; `timeout_s`: after which one is answered with 503;
    `loads_model`: at the start, so that the first search need not.
    Raises `UsageError` for an endpoint in the settings that can't be used.
    """
    endpoint = endpoint_of(settings.answer, answer_key)
    limits = body_limits or BodyLimits(upload_bytes=settings.limits.source_bytes)

    assistants = create_mcp(lambda: app.state.serving)
    over_http = assistants.streamable_http_app(
        streamable_http_path="/mcp",
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=False
        ),  # `Guard` does it
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        serving = Serving.open(path, settings, endpoint, Work(threads, timeout_s=timeout_s))
        app.state.serving = serving
        app.state.feed = Feed(lambda: live_of(serving))
        folders = [Path(one.source) for one in read_collections(serving.index) if one.source.startswith("/")]
        threading.Thread(target=sweep, args=(folders,), name="sweep", daemon=True).start()
        if loads_model:
            threading.Thread(target=serving.load_model, name="model", daemon=True).start()
        if settings.schedule.cron:  # here, since each assistant has a process of `pincite mcp`
            serving.runs.start()
        try:
            async with assistants.session_manager.run():
                yield
        finally:
            await asyncio.to_thread(serving.close)

    app = FastAPI(
        title="Pincite",
        version=VERSION,
        summary="Passages whose place can be checked.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from another host
        redoc_url=None,
    )
    problems.add_handlers(app, problem_response)
    app.router.routes.extend(pages.routes())
    for router in (*api.routers(), *pages.routers()):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=Path(__file__).with_name("static")))
    app.router.routes.extend(over_http.routes)
    app.state.ending = threading.Event()
    app.add_middleware(Guard, access=access, limits=limits, store=SessionStore(path))
    return app
