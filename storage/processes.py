"""Whether the process that wrote a row of the ledger is still there."""

import os
import socket


def has_died(host: str, pid: int) -> bool:
    """Whether a process is surely gone; of another host nothing is known."""
    if host != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False  # it is there, of another user
    return False
