"""`pincite mcp`."""

import signal
from pathlib import Path

from pincite.console import DEFAULT_INDEX, IndexOption
from pincite.flows.settings import load_settings


def mcp(index: IndexOption = DEFAULT_INDEX) -> None:
    """Serve the index to an assistant over standard input and output (Model Context Protocol)."""
    from pincite.dashboard.mcp_server import create_mcp
    from pincite.dashboard.state.serving import Serving
    from pincite.dashboard.state.thread_pool import Work

    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(sign) is not signal.SIG_IGN:
            signal.signal(sign, signal.SIG_DFL)  # a thread that reads standard input can't be interrupted
    serving = Serving.open(Path(index), load_settings(), None, Work())
    try:
        create_mcp(lambda: serving).run("stdio")
    finally:
        serving.close()
