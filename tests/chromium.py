"""The browser of the tests: Debian's Chromium, driven by Playwright."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

_PROGRAM = Path("/usr/bin/chromium")

expect.set_options(timeout=30_000)  # a busy machine is no fault of the page


@contextmanager
def chromium() -> Iterator[Browser]:
    """While it is open, no other test of the session could run an event loop: open it for a module, not for all."""
    if not _PROGRAM.exists():
        pytest.fail("these tests need a browser: `apt-get install chromium`, or run deploy/setup again")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=_PROGRAM, args=["--no-sandbox"])
        yield opened
        opened.close()
