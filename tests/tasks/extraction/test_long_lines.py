"""Hostile lines: the work on them grows with their length, not with its square."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.encoders.languages import language_of
from pincite.schemas.errors import DocumentError
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract

HEAD = "WEBVTT\n\n00:01.000 --> 00:02.000\n"
SIZES = (25_000, 100_000)
MOST = 10  # times the work for four times the length: a square would need sixteen
FREE_S = 1.0  # below this no growth is looked at: a square takes minutes at the larger size

INPUTS: dict[str, Callable[[int], str]] = {
    "letter.txt": lambda size: "a" * size,
    "marks.txt": lambda size: "a" + "\u0301" * size,
    "chinese.txt": lambda size: "数据库系统" * (size // 5),
    "escape.log": lambda size: "x" + "\x1b]" * (size // 2),
    "field.csv": lambda size: "a,b\n" + "a" * (30 * size) + ",1\n",
    "title.md": lambda size: "---\ntitle: a" + " " * size + "b\n---\nx",
    "signs.md": lambda size: "x<sup>" * (size // 6),
    "sheet.html": lambda size: f"<style>{'a' * size}</style><p>x",
    "comment.html": lambda size: f"<style>{'/*' * (size // 2)}</style><p>x",
    "media.html": lambda size: f"<style>{'@' * size}</style><p>x",
    "struck.html": lambda size: "<s>x</s>y" * (size // 9),
    "classes.vtt": lambda size: HEAD + "<v" + ".a" * (size // 2),
    "voices.vtt": lambda size: HEAD + "<v " * (size // 3) + "x",
    "addresses.eml": lambda size: f"Subject: x\nTo: {'a,' * (size // 2)}\n\nwords\n",
    "parameters.eml": lambda size: (
        f"Subject: x\nContent-Type: text/calendar\n\nBEGIN:VEVENT\nSUMMARY{';A=b' * (size // 4)}\n"
    ),
}


def work(name: str, size: int, folder: Path) -> float:
    """CPU seconds of extraction and of the look at the language."""
    path = folder / f"{size}-{name}"
    path.write_text(INPUTS[name](size), "utf-8")
    started = time.process_time()
    with contextlib.suppress(DocumentError):  # refused with a reason is as good
        language_of([extract(path, Settings(), lambda page: None).text])
    return time.process_time() - started


@pytest.mark.parametrize("name", INPUTS)
def test_the_work_on_a_long_line_does_not_grow_with_its_square(name: str, tmp_path: Path) -> None:
    small, large = (work(name, size, tmp_path) for size in SIZES)
    assert large < max(FREE_S, MOST * small), f"{small:.2f} s, then {large:.2f} s"
