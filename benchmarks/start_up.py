"""CPU seconds of short commands, as ratios to a Python that does nothing.

python -m benchmarks.start_up INDEX

Each is started ten times; user and system time, the median.
"""

import os
import statistics
import subprocess
import sys

RUNS = 10
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import pincite": ["-c", "import pincite"],
    "pincite.open": ["-c", "import pincite; pincite.open"],
    "pincite --help": ["-m", "pincite", "--help"],
    "pincite search --help": ["-m", "pincite", "search", "--help"],
    "pincite status": ["-m", "pincite", "status", "--index"],
}


def cpu_s(command: list[str]) -> float:
    """User and system time of one run, of what it starts too."""
    before = os.times()
    subprocess.run([sys.executable, *command], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return (after.children_user + after.children_system) - (before.children_user + before.children_system)


def main() -> None:
    index = sys.argv[1]
    took = {
        name: statistics.median(
            cpu_s([*command, index] if command[-1] == "--index" else command) for _ in range(RUNS)
        )
        for name, command in COMMANDS.items()
    }
    nothing = took["python -c pass"]
    for name, seconds in took.items():
        print(f"{name:24} {seconds:6.3f} s {seconds / nothing:6.1f} ×")


if __name__ == "__main__":
    main()
