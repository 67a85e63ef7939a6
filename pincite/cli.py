"""The command line: `pincite COMMAND`, or `python -m pincite COMMAND`.

Exit codes: 0 all well, 1 some documents failed or a check fell short, 2 wrong use or a broken index, 3 no answer,
4 an answer that names what it was not given, 130 interrupted, by Ctrl-C, SIGTERM (`docker stop`, a cancel of the
dashboard) or SIGHUP.
"""

import errno
import io
import os
import signal
import sys
from contextlib import suppress
from types import FrameType

from pincite.schemas.addresses import without_proxy_for_loopback
from pincite.schemas.errors import PinciteError
from pincite.schemas.import_path import put_working_directory_last


def main() -> None:
    put_working_directory_last()
    from pincite.command_list import app  # libraries are looked for only now
    from pincite.console import ExitCode, complain

    end_by_signals()
    without_proxy_for_loopback()
    escape_what_can_not_be_shown()
    try:
        try:
            app.main(prog_name="pincite")
        except PinciteError as error:
            complain(str(error))
            sys.exit(ExitCode.WRONG_USE)
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in _OUTPUT_LOST or error.filename is not None:
            raise
        drop_output()
        if error.errno != errno.EPIPE:  # who reads a pipe may go when it has enough
            with suppress(OSError):
                complain(f"the output can't be written: {error.strerror}")
        sys.exit(ExitCode.WRONG_USE)


def escape_what_can_not_be_shown() -> None:
    """Signs that the locale's encoding does not have are printed as escapes (`\\u0443`) in place of an error."""
    for stream in (sys.stdout, sys.stderr):
        # A stream that was opened in another process and can't seek here as it could there stays as it is.
        with suppress(OSError):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")


_OUTPUT_LOST = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE}
"""What writing to a full device or a closed pipe says. An error of a file has its name."""


def drop_output() -> None:
    """What waits to be written goes nowhere: Python would try again when it ends."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def end_by_signals() -> None:
    """SIGTERM and SIGHUP do what Ctrl-C does: what runs says in the ledger how it ended, and ends what it started.

    A cancel can't be SIGINT: a shell that is no terminal starts `pincite index &` with that ignored.
    """
    for sign in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(sign) is signal.SIG_DFL:  # `nohup` has SIGHUP ignored
            signal.signal(sign, _interrupt)


def _interrupt(_sign: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
