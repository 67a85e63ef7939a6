"""The mode of new files is that which the user asked for."""

from pathlib import Path


def umask() -> int:
    """Reading it means setting it: for a moment files of other threads would be written with another."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022
