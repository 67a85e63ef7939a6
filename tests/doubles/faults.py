"""Extractors and stages that misbehave, for tests of isolation. Each is what a real parser did once."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.text.plain import extract_plain
from pincite.tasks.sandbox.child import At


def extract_by_first_word(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """Does on page 3 what the file's first word says."""
    progress(3)
    FAULTS[path.read_text().split()[0]]()
    raise AssertionError("the fault did not happen")


def extract_and_unlink(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """Reads the file as plain text, of which nothing is left afterwards."""
    extraction = extract_plain(path, settings, progress)
    path.unlink()
    return extraction


def raise_error() -> None:
    raise ValueError("unexpected operator BT")


def raise_document_error() -> None:
    raise Unreadable("no usable text", page=2)


def raise_unpicklable() -> None:
    error = ValueError("holds a lambda")
    error.extra = lambda: None  # type: ignore[attr-defined]  # what pickle can't take
    raise error


def hang() -> None:
    time.sleep(3600)


def hang_in_c_with_the_gil() -> None:
    ctypes.PyDLL(None).sleep(3600)


def leave() -> None:
    os._exit(7)


def segfault() -> None:
    ctypes.string_at(0)


def fork_and_hang() -> None:
    """A child in the group, one in a session of its own, and a double fork, all of which hang."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(0)
    time.sleep(3600)


def fork_and_leave() -> None:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
    os._exit(0)


def allocate() -> None:
    hoard = []
    while True:
        hoard.append(bytearray(16 << 20))


def allocate_at_once() -> None:
    bytearray(1 << 40)


def exit_politely() -> None:
    sys.exit("bye")


def hang_up() -> None:
    """Closes what it inherited, as what turns into a daemon does, and lives on."""
    os.closerange(3, 256)
    time.sleep(3600)


FAULTS = {
    "raise": raise_error,
    "raise-document-error": raise_document_error,
    "raise-unpicklable": raise_unpicklable,
    "hang": hang,
    "hang-with-gil": hang_in_c_with_the_gil,
    "exit": leave,
    "segfault": segfault,
    "fork": fork_and_hang,
    "fork-and-exit": fork_and_leave,
    "allocate": allocate,
    "allocate-at-once": allocate_at_once,
    "sys-exit": exit_politely,
    "hang-up": hang_up,
}


def fault(name: str, at: At) -> None:
    """A stage that does the fault on page 5 of its extraction."""
    at("extract", 5)
    FAULTS[name]()


def double(number: int, at: At) -> int:
    """A stage that works."""
    return 2 * number


def complain_of_memory(_payload: object, _at: At) -> None:
    print("MemoryError, which the parser survived", file=sys.stderr, flush=True)


def own_pid(_payload: object, at: At) -> int:
    return os.getpid()


def slow_start(seconds: float, _at: At) -> None:
    time.sleep(seconds)


def die_while_left(counter: str, _at: At) -> None:
    """Is killed as often as the number in the file says, which is one less each time."""
    left = int(Path(counter).read_text())
    if left:
        Path(counter).write_text(str(left - 1))
        os.kill(os.getpid(), signal.SIGKILL)


def work_on_one_core(cpu_s: float, _at: At) -> None:
    """Works for some CPU seconds on the first core that it may use."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    until = time.process_time() + cpu_s
    while time.process_time() < until:
        pass


def environment(name: str, at: At) -> str | None:
    return os.environ.get(name)


def litter(_payload: object, at: At) -> str:
    """A temporary file that nobody removes, as tesseract leaves one when it is killed."""
    handle, name = tempfile.mkstemp()
    os.close(handle)
    return name
