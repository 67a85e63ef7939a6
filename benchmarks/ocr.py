"""Character error and confidence of OCR per kind of scan: `python -m benchmarks.ocr`.

Prints a Markdown table. A kind that misses the figure asked for is marked, and the exit code is 1.
"""

import os
import platform
import sys
from dataclasses import dataclass

from benchmarks import scans
from benchmarks.scans import Spoil, character_error_rate, page_image
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.ocr import installed
from pincite.tasks.extraction.ocr.engine import read_page


@dataclass(frozen=True, slots=True)
class Condition:
    name: str
    spoil: Spoil
    allowed: float | None = None  # character error that must be reached; None where nothing is asked


CONDITIONS = (
    Condition("clean", lambda page: page, 0.01),
    Condition("noise, 30 grey levels", scans.noisy, 0.03),
    Condition("noise, 50 grey levels, 1 % specks", lambda page: scans.noisy(page, 50, 0.01), 0.03),
    Condition("skew 1°", lambda page: scans.skewed(page, 1), 0.03),
    Condition("skew 3.3°", lambda page: scans.skewed(page, 3.3), 0.03),
    Condition("skew 5°", lambda page: scans.skewed(page, 5), 0.03),
    Condition("skew 5° the other way", lambda page: scans.skewed(page, -5), 0.03),
    Condition("shadow to 30 % light", scans.shadowed, 0.03),
    Condition("shadow to 15 % light", lambda page: scans.shadowed(page, 0.15), 0.03),
    Condition("quarter turn", lambda page: scans.turned(page, 1), 0.03),
    Condition("half turn", lambda page: scans.turned(page, 2), 0.03),
    Condition("three quarters", lambda page: scans.turned(page, 3), 0.03),
    Condition("noise, skew 5°", lambda page: scans.noisy(scans.skewed(page, -5)), 0.03),
    Condition("noise, 10 grey levels, shadow", lambda page: scans.noisy(scans.shadowed(page), 10, 0.0), 0.03),
    Condition("noise, 30 grey levels, shadow", lambda page: scans.noisy(scans.shadowed(page))),
    Condition(
        "noise, shadow, skew 4°, three quarters",
        lambda page: scans.noisy(scans.shadowed(scans.turned(scans.skewed(page, -4), 3))),
    ),
    Condition("faded to 25 % contrast", scans.faded),
    Condition("JPEG at quality 8", lambda page: scans.jpeg(page, 8)),
    Condition("blur 2 px", lambda page: scans.blurred(page, 2)),
    Condition("blur 3 px", lambda page: scans.blurred(page, 3)),
    Condition("blur 4 px", lambda page: scans.blurred(page, 4)),
    Condition("blur 5 px", lambda page: scans.blurred(page, 5)),
    Condition("60 dpi", lambda page: scans.coarse(page, 0.3)),
    Condition("50 dpi", lambda page: scans.coarse(page, 0.25)),
    Condition("noise, 80 grey levels, 5 % specks", lambda page: scans.noisy(page, 80, 0.05)),
)

PAGES = {
    "prose 11 pt": page_image,
    "two columns 9 pt": lambda: page_image(columns=2, points=9),
}


def cpu_seconds() -> float:
    """CPU of this process and of every tesseract that it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def main() -> int:
    print(
        f"tesseract {installed.version()}, Python {platform.python_version()}, {platform.machine()}, "
        f"{len(PAGES)} pages a condition: {', '.join(PAGES)}\n"
    )
    print(
        "| condition | "
        + " | ".join(f"CER {name}" for name in PAGES)
        + " | characters | confidence | CPU s a page |"
    )
    print("|---|" + "---|" * (len(PAGES) + 3))
    missed = 0
    pages = [make() for make in PAGES.values()]
    for condition in CONDITIONS:
        started = cpu_seconds()
        read = [read_page(condition.spoil(image), Settings()) for image, _ in pages]
        spent = (cpu_seconds() - started) / len(pages)
        errors = [
            character_error_rate(" ".join(word.text for word in page.words), truth)
            for page, (_, truth) in zip(read, pages, strict=True)
        ]
        failed = condition.allowed is not None and max(errors) > condition.allowed
        missed += failed
        print(
            f"| {condition.name}{' **missed**' if failed else ''} | "
            + " | ".join(f"{error:.4f}" for error in errors)
            + f" | {sum(len(truth) for _, truth in pages)}"
            + f" | {' / '.join(f'{page.confidence or 0:.1f}' for page in read)} | {spent:.1f} |",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
