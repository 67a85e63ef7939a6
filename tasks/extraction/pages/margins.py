"""What typographers put beside the lines: initials over several lines, and numbers of lines in the margin."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from pincite.tasks.extraction.pages.layout import (
    W,
    line_bottom,
    line_top,
    line_x0,
    line_x1,
    lines_of,
    middle,
    parted,
    usual_height,
)

INITIAL = 1.6  # times the height of the words beside it, at least
MAX_INITIAL = 3  # characters, an opening quote included
NEAR_INITIAL = 1.2  # of the word height between an initial and the rest of its word
# Single letters that are words: the next word is one of its own where a space parts them.
ARE_WORDS = "AIÀ"
SPACE = 0.3  # of the word height
MIN_NUMBERS = 4  # lines that are numbered
SAME_EDGE = 3.0  # points
RUNS_ON = 0.25  # share of numbered lines that begin in the middle of a sentence


def with_initials(words: Sequence[W]) -> list[W]:
    """The words; a letter over several lines is put to the word that it begins."""
    if len(words) < 3:
        return list(words)
    unit = usual_height(words)
    tall = [word for word in words if _is_initial(word, unit)]
    begun: dict[int, W] = {}
    gone: set[int] = set()
    for initial in tall:
        rest = _rest_of(initial, words, unit)
        if rest is not None and id(rest) not in begun:
            begun[id(rest)] = replace(rest, text=initial.text + rest.text)
            gone.add(id(initial))
    return [begun.get(id(word), word) for word in words if id(word) not in gone] if gone else list(words)


def _is_initial(word: W, unit: float) -> bool:
    text = word.text
    return (
        word.confidence is None
        and len(text) <= MAX_INITIAL
        and text[-1:].isupper()
        and sum(map(str.isalpha, text)) == 1
        and word.bottom - word.top >= INITIAL * unit
    )


def _rest_of(initial: W, words: Sequence[W], unit: float) -> W | None:
    """The word that the initial begins: the first of the upper line beside it, when a second line stands beside."""
    beside = [
        word
        for word in words
        if word is not initial
        and word.bottom - word.top < (initial.bottom - initial.top) / 1.3
        and initial.top - 0.6 * unit < middle(word) < initial.bottom
        and -0.5 * unit < word.x0 - initial.x1
    ]
    lines = [line for line in lines_of(beside) if line_x0(line) - initial.x1 < NEAR_INITIAL * unit]
    if len(lines) < 2:
        return None
    first = min(lines[0], key=lambda word: word.x0)
    if not first.text[:1].isalpha() or first.x0 - initial.x1 > NEAR_INITIAL * unit:
        return None
    apart = first.x0 - initial.x1 > SPACE * unit
    if initial.text[-1] in ARE_WORDS and (apart or first.text[:1].isupper()):
        return None
    return first if first.text[:1].islower() or first.text.isupper() else None


def without_line_numbers(words: Sequence[W]) -> tuple[list[W], list[W]]:
    """(the words, numbers of lines that were taken out of a margin, from top to bottom)."""
    numbers = [word for word in words if word.text.isdecimal() and len(word.text) <= 4]
    if len(numbers) < MIN_NUMBERS:
        return list(words), []
    others = [word for word in words if not (word.text.isdecimal() and len(word.text) <= 4)]
    if not others:
        return list(words), []
    for edge in (lambda word: word.x1, lambda word: word.x0):
        for column in _at_one_edge(numbers, edge):
            if _numbers_lines(column, others):
                taken = {id(word) for word in column}
                return [word for word in words if id(word) not in taken], column
    return list(words), []


def _at_one_edge(numbers: Sequence[W], edge: Callable[[W], float]) -> list[list[W]]:
    """Numbers that share an edge, as columns from top to bottom."""
    columns: list[list[W]] = []
    for word in sorted(numbers, key=lambda each: (edge(each), each.top)):
        if columns and edge(word) - edge(columns[-1][-1]) <= SAME_EDGE / 2:
            columns[-1].append(word)
        else:
            columns.append([word])
    return [sorted(column, key=lambda word: word.top) for column in columns if len(column) >= MIN_NUMBERS]


def _numbers_lines(column: Sequence[W], others: Sequence[W]) -> bool:
    """Whether a column of numbers counts the lines of running text beside it, each or every few."""
    steps = {int(b.text) - int(a.text) for a, b in pairwise(column)}
    if len(steps) != 1 or not 1 <= (step := steps.pop()) <= 10:
        return False
    if step > 1 and int(column[0].text) % step:
        return False
    level = [word for word in others if column[0].top - 2 < middle(word) < column[-1].bottom + 2]
    if not level:
        return False
    unit = usual_height(level)
    left = max(word.x1 for word in column) <= min(word.x0 for word in level)
    right = min(word.x0 for word in column) >= max(word.x1 for word in level)
    lines = [line for line in lines_of(level) if len(line) > 1]
    if not (left or right) or len(lines) < len(column) / 2:
        return False
    texts = [" ".join(word.text for word in line) for line in lines]
    whole = sum(1 for line in lines if len(parted(line, 1.2 * unit)) == 1)
    width = median(line_x1(line) - line_x0(line) for line in lines)
    runs_on = sum(1 for text in texts if text[:1].islower())
    spread = line_bottom(lines[-1]) - line_top(lines[0])
    return (
        whole >= 0.8 * len(lines)
        and width >= 10 * unit
        and runs_on >= RUNS_ON * len(lines)
        and spread > 2 * unit
    )
