"""`pincite serve`."""

import os
import signal
import socket
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from pincite.console import DEFAULT_INDEX, IndexOption, say
from pincite.flows.settings import load_settings
from pincite.schemas.errors import UsageError
from pincite.storage.snapshots.index import Index

DEFAULT_PORT = 8766
_LAST_REQUESTS_S = 10  # that those at work have when the server ends


def serve(
    index: IndexOption = DEFAULT_INDEX,
    host: Annotated[str, typer.Option(help="The address to serve on; others than loopback need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any free one.")] = DEFAULT_PORT,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="A host name by which the server is known to others; repeatable."),
    ] = None,
) -> None:
    """Serve the index until it is interrupted: the dashboard at /, and the same over HTTP.

    On another address than loopback a token is needed: an operator's in PINCITE_TOKEN, and in PINCITE_VIEWER_TOKEN
    one of who may only read. Where the settings have a schedule, its runs are started too.
    """
    import uvicorn

    from pincite.dashboard.app import create_app
    from pincite.dashboard.http.access import TOKEN_VARIABLE, VIEWER_VARIABLE, access_of
    from pincite.dashboard.http.connections import Connections, protocol
    from pincite.retrieval.answers.llm_client import KEY_VARIABLE

    settings = load_settings()
    tokens = [os.environ.get(variable, "") for variable in (TOKEN_VARIABLE, VIEWER_VARIABLE)]
    access = access_of(host, tokens[0], name or (), tokens[1])
    key = os.environ.get(KEY_VARIABLE, "")
    app = create_app(Path(index), settings, access, answer_key=key, loads_model=True)
    Index.open(Path(index)).close()  # says what is wrong with it before the server starts
    with _listening(host, port) as listener:
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            http=protocol(Connections()),
            timeout_graceful_shutdown=_LAST_REQUESTS_S,
        )
        server = uvicorn.Server(config)
        handle_exit = server.handle_exit

        def end(sign: int, frame: FrameType | None) -> None:
            app.state.ending.set()  # streams of events would hold the server up
            handle_exit(sign, frame)

        server.handle_exit = end  # type: ignore[method-assign, assignment]  # uvicorn has no other hook
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, end)  # also what uvicorn puts back when it is done
        say(f"Pincite serves {index} at {_address(listener)} (Ctrl-C ends it)")
        server.run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    """Raises `UsageError` when the address can't be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=256)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise UsageError(
            f"can't serve on {host} port {port}: {why}. Choose others with --host and --port"
        ) from error


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
