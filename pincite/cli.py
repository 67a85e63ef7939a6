"""The command line: `pincite COMMAND`, or `python -m pincite COMMAND`.

Exit codes: 0 all well, 1 some documents failed or a check fell short, 2 wrong use or a broken index, 3 no answer,
130 interrupted, by Ctrl-C, SIGTERM (`docker stop`, a cancel of the dashboard) or SIGHUP.
"""

import signal
import sys
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
    try:
        app.main(prog_name="pincite")
    except PinciteError as error:
        complain(str(error))
        sys.exit(ExitCode.WRONG_USE)


def end_by_signals() -> None:
    """SIGTERM and SIGHUP do what Ctrl-C does: what runs says in the ledger how it ended, and ends what it started.

    A cancel can't be SIGINT: a shell that is no terminal starts `pincite index &` with that ignored.
    """
    for sign in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(sign) is signal.SIG_DFL:  # `nohup` has SIGHUP ignored
            signal.signal(sign, _interrupt)


def _interrupt(_sign: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
