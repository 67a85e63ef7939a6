"""Dates, times and durations as a format code shows them: ECMA-376 part 1, 18.8.31. English names."""

import datetime as dt
from collections.abc import Sequence

from pincite.tasks.extraction.office.format_code import FormatSection, FormatToken

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_BUDDHIST = 543  # years ahead
_EPOCH = dt.datetime(1899, 12, 30)
_SECONDS = {"h": 3600, "m": 60, "s": 1}

Moment = dt.datetime | dt.date | dt.time


def moment(value: Moment, section: FormatSection) -> str:
    """A date or a time of day; in ISO form where the code shows neither."""
    tokens = section.tokens
    if not section.is_date:
        return value.isoformat(" ") if isinstance(value, dt.datetime) else value.isoformat()
    if section.has("elapsed"):
        return elapsed(_since_midnight(value), section)
    value = _rounded(value, tokens)
    twelve = section.has("meridiem")
    text = ""
    for index, token in enumerate(tokens):
        if token.kind == "field":
            text += _field(value, token.text.lower(), twelve, _is_minute(tokens, index))
        elif token.kind == "meridiem":
            after_noon = getattr(value, "hour", 0) >= 12
            text += ("PM" if after_noon else "AM") if len(token.text) > 3 else "AP"[after_noon]
        elif token.kind == "fraction":
            text += f".{getattr(value, 'microsecond', 0):06d}"[: len(token.text)]
        elif token.kind not in ("general", "digit", "at"):
            text += token.text
    return text.strip()


def elapsed(value: dt.timedelta, section: FormatSection) -> str:
    """A duration, its largest unit counted on: "[h]:mm" shows 30:15, "h:mm" shows 6:15."""
    tokens = section.tokens
    seconds = value.total_seconds()
    if not section.is_date:
        minutes, rest = divmod(round(abs(seconds)), 60)
        return f"{'-' * (seconds < 0)}{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
    places = next((len(token.text) - 1 for token in tokens if token.kind == "fraction"), 0)
    left = round(abs(seconds), places)
    counted = next((token.text[0] for token in tokens if token.kind == "elapsed"), "")
    text = ""
    for index, token in enumerate(tokens):
        if token.kind == "elapsed":
            whole = int(left // _SECONDS[token.text[0]])
            text += f"{whole:0{len(token.text)}d}"
        elif token.kind == "field":
            text += _duration_field(left, token.text.lower(), counted, _is_minute(tokens, index))
        elif token.kind == "fraction":
            text += f"{left % 1:.{places}f}"[1 : len(token.text) + 1]
        elif token.kind not in ("general", "digit", "at", "meridiem"):
            text += token.text
    return ("-" * (seconds < 0) + text.strip()).strip()


def _duration_field(left: float, field: str, counted: str, minute: bool) -> str:
    unit = "m" if field[0] == "m" and (minute or counted == "h") else field[0]
    size = min(len(field), 2)
    if unit == "h":
        return f"{int(left // 3600) % 24:0{size}d}"
    if unit == "m":
        return f"{int(left // 60) % 60:0{size}d}"
    if unit == "s":
        return f"{int(left) % 60:0{size}d}"
    return _field(_EPOCH + dt.timedelta(seconds=left), field, twelve=False, minute=False)


def _since_midnight(value: Moment) -> dt.timedelta:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None) - _EPOCH
    if isinstance(value, dt.time):
        return dt.timedelta(
            hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
        )
    return dt.datetime(value.year, value.month, value.day) - _EPOCH


def _rounded(value: Moment, tokens: Sequence[FormatToken]) -> Moment:
    """To the last place that is shown of the seconds; without seconds, time is cut, not rounded."""
    if not any(
        token.kind == "fraction" or token.text[:1] in ("s", "S") for token in tokens if token.kind != "text"
    ):
        return value
    places = max((len(token.text) - 1 for token in tokens if token.kind == "fraction"), default=0)
    step = 10 ** (6 - min(places, 6))
    micro = getattr(value, "microsecond", 0)
    rounded = (micro + step // 2) // step * step
    if rounded < 1_000_000 or (isinstance(value, dt.date) and not isinstance(value, dt.datetime)):
        return value.replace(microsecond=rounded) if isinstance(value, dt.datetime | dt.time) else value
    if isinstance(value, dt.time):
        moved = dt.datetime.combine(_EPOCH, value.replace(microsecond=0)) + dt.timedelta(seconds=1)
        return moved.time()
    try:
        return value + dt.timedelta(microseconds=rounded - micro)
    except OverflowError:
        return value


def _is_minute(tokens: Sequence[FormatToken], index: int) -> bool:
    """ "m" means minutes right after hours or right before seconds, months otherwise."""
    if len(tokens[index].text) > 2:
        return False
    fields = [
        (at, token.text[0].lower()) for at, token in enumerate(tokens) if token.kind in ("field", "elapsed")
    ]
    here = next(position for position, (at, _) in enumerate(fields) if at == index)
    before = fields[here - 1][1] if here else ""
    after = fields[here + 1][1] if here + 1 < len(fields) else ""
    return before == "h" or after == "s"


def _field(value: Moment, field: str, twelve: bool, minute: bool) -> str:
    letter, size = field[0], len(field)
    if letter in "hs" or (letter == "m" and minute):
        number = getattr(value, {"h": "hour", "m": "minute", "s": "second"}[letter], 0)
        if letter == "h" and twelve:
            number = number % 12 or 12
        return f"{number:0{min(size, 2)}d}"
    return "" if isinstance(value, dt.time) else _date_field(value, letter, size)


def _date_field(value: dt.date, letter: str, size: int) -> str:
    if letter in "yeb":
        year = value.year + (_BUDDHIST if letter == "b" else 0)
        return f"{year % 100:02d}" if size < 3 and letter != "e" else f"{year:04d}"
    if letter == "m":
        name = _MONTHS[value.month - 1]
        shown = (str(value.month), f"{value.month:02d}", name[:3], name, name[0])
        return shown[min(size, 5) - 1] if size < 6 else name
    day = _DAYS[value.weekday()]
    return (str(value.day), f"{value.day:02d}", day[:3], day)[min(size, 4) - 1]
