"""How a spreadsheet shows a number or a date: the number format codes of ECMA-376 part 1, 18.8.31.

English month and day names; `General` shows up to 15 significant digits, so that nothing stored is lost.
Fractions ("# ?/?") are shown as decimal numbers.
"""

import datetime as dt
import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

Scalar = str | int | float | bool | dt.datetime | dt.date | dt.time | dt.timedelta

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<meridiem>AM/PM|A/P)|(?P<field>y+|m+|d+|h+|s+)|(?P<fraction>\.0+(?=[^0#?]|$))|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_DATE_FIELD = re.compile(r"[ymdhs]", re.IGNORECASE)
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
_DIGITS = re.compile(r"[0#?][0#?,]*(?:\.[0#?]*,*)?|\.[0#?]+")
_EXPONENT = re.compile(r"[eE][+-](0+)")
_LITERALS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]', re.DOTALL)
# fmt: off
# The codes 14 and 22 stand for the reader's own short date; Excel shows it so in American English.
_SHORT_DATES = {"mm-dd-yy": "m/d/yyyy", "m/d/yy h:mm": "m/d/yyyy h:mm"}
_EXACT = Context(prec=700)  # digits of the largest float and of a long fraction
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# fmt: on


def shown(value: Scalar, code: str) -> str:
    """`value` as the format `code` shows it. Text stays as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dt.timedelta):
        return _elapsed(value, code)
    if isinstance(value, dt.date | dt.time):
        return _moment(value, _split(_SHORT_DATES.get(code, code))[0])
    return _number(value, code)


def general(number: int | float) -> str:
    """Whole numbers without a point, others with up to 15 significant digits."""
    if isinstance(number, int) or (number.is_integer() and abs(number) < 1e15):
        return str(int(number))
    return format(number, ".15g")


def _number(value: int | float, code: str) -> str:
    section, own_sign = _section(code, value)
    bare = _LITERALS.sub("", section)
    if "general" in bare.casefold() or bare.strip() == "@" or "/" in bare or not math.isfinite(value):
        return general(value)
    digits = _DIGITS.search(bare)
    if digits is None:
        return _literal(section).strip() or general(value)
    amount = Decimal(repr(value))
    amount *= Decimal(100) ** bare.count("%")
    sign = "-" if amount < 0 and not own_sign else ""
    exponent = _EXPONENT.search(bare)
    body = _scientific(abs(amount), digits[0], exponent) if exponent else _fixed(abs(amount), digits[0])
    if not any(character.isdigit() and character != "0" for character in body):
        sign = ""
    return sign + _around(section, body)


def _section(code: str, value: int | float) -> tuple[str, bool]:
    """(the part of the code for this value, whether that part shows the sign itself)."""
    sections = _split(code)
    if value < 0 and len(sections) > 1:
        return sections[1], True
    if value == 0 and len(sections) > 2:
        return sections[2], True
    return sections[0], False


@lru_cache(maxsize=1024)
def _split(code: str) -> list[str]:
    sections, current = [], ""
    for match in _TOKEN.finditer(code):
        if match[0] == ";":
            sections.append(current)
            current = ""
        else:
            current += match[0]
    return [*sections, current]


def _fixed(amount: Decimal, picture: str) -> str:
    thousands = len(picture) - len(picture.rstrip(","))  # each shows the number divided by a thousand
    whole, _, fraction = picture.rstrip(",").partition(".")
    amount /= Decimal(1000) ** thousands
    rounded = amount.quantize(Decimal(1).scaleb(-len(fraction)), rounding=ROUND_HALF_UP, context=_EXACT)
    before, _, after = f"{rounded:f}".partition(".")
    optional = len(fraction) - len(fraction.rstrip("#?"))
    kept = after[: len(after) - optional] + after[len(after) - optional :].rstrip("0") if optional else after
    needed = whole.count("0")
    before = before.lstrip("0").rjust(needed, "0")
    if "," in whole:
        before = _grouped(before)
    # Excel keeps the point of a code like "0.##" even where no digit follows it.
    return before + ("." + kept if "." in picture else "") or "0"


def _grouped(digits: str) -> str:
    head = len(digits) % 3
    groups = [digits[:head]] if head else []
    return ",".join(groups + [digits[at : at + 3] for at in range(head, len(digits), 3)])


def _scientific(amount: Decimal, picture: str, exponent: re.Match[str]) -> str:
    places = len(picture.partition(".")[2])
    mantissa, _, power = f"{amount:.{places}e}".partition("e")
    return f"{mantissa}E{power[0]}{power[1:].lstrip('0').rjust(len(exponent[1]), '0')}"


def _around(section: str, body: str) -> str:
    """`body` in the place of the digits of `section`, between its literals."""
    bare = _LITERALS.sub(lambda match: "\0" * len(match[0]), section)
    first = _DIGITS.search(bare)
    assert first is not None
    end = _EXPONENT.search(bare, first.end())
    stop = end.end() if end else max(match.end() for match in _DIGITS.finditer(bare))
    return (_literal(section[: first.start()]) + body + _literal(section[stop:])).strip()


def _literal(code: str) -> str:
    text = ""
    for match in _TOKEN.finditer(code):
        if match["quoted"] is not None or match["escaped"] is not None:
            text += match["quoted"] or match["escaped"] or ""
        elif match["space"] is not None:
            text += " "
        elif match["bracket"] is not None:
            text += match["bracket"][1:].split("-")[0] if match["bracket"].startswith("$") else ""
        elif match["fill"] is None and match[0] not in "@#?0":
            text += match[0]
    return text


def _moment(value: dt.datetime | dt.date | dt.time, code: str) -> str:
    bare = _LITERALS.sub("", code)
    if not _DATE_FIELD.search(bare) or "general" in bare.casefold():
        return value.isoformat(" ") if isinstance(value, dt.datetime) else value.isoformat()
    tokens = list(_TOKEN.finditer(code))
    twelve = any(token["meridiem"] for token in tokens)
    text = ""
    for index, token in enumerate(tokens):
        if token["field"]:
            text += _field(value, token["field"].lower(), twelve, _is_minute(tokens, index))
        elif token["meridiem"]:
            after_noon = getattr(value, "hour", 0) >= 12
            text += (
                ("PM" if after_noon else "AM") if "/" in token[0] and len(token[0]) > 3 else "AP"[after_noon]
            )
        elif token["fraction"]:
            text += f".{getattr(value, 'microsecond', 0):06d}"[: len(token["fraction"])]
        else:
            text += _literal(token[0])
    return text.strip()


def _is_minute(tokens: list[re.Match[str]], index: int) -> bool:
    """ "m" means minutes right after hours or right before seconds, months otherwise."""
    fields = [(at, token["field"][0].lower()) for at, token in enumerate(tokens) if token["field"]]
    here = next(position for position, (at, _) in enumerate(fields) if at == index)
    before = fields[here - 1][1] if here else ""
    after = fields[here + 1][1] if here + 1 < len(fields) else ""
    return before == "h" or after == "s"


def _field(value: dt.datetime | dt.date | dt.time, field: str, twelve: bool, minute: bool) -> str:
    size = min(len(field), 4)
    letter = field[0]
    if letter in "hs" or (letter == "m" and minute):
        name = {"h": "hour", "m": "minute", "s": "second"}[letter]
        number = getattr(value, name, 0)
        if letter == "h" and twelve:
            number = number % 12 or 12
        return f"{number:0{min(size, 2)}d}"
    if isinstance(value, dt.time):
        return ""
    if letter == "y":
        return f"{value.year:04d}" if size > 2 else f"{value.year % 100:02d}"
    if letter == "m":
        name = _MONTHS[value.month - 1]
        return (str(value.month), f"{value.month:02d}", name[:3], name[0] if len(field) == 5 else name)[
            size - 1
        ]
    day = _DAYS[value.weekday()]
    return (str(value.day), f"{value.day:02d}", day[:3], day)[size - 1]


def _elapsed(value: dt.timedelta, code: str) -> str:
    """Hours beyond 24 count on: "[h]:mm" shows 30:15."""
    seconds = value.total_seconds()
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    found = _ELAPSED.search(code)
    unit = found[1][0].lower() if found else "h"
    if unit == "s":
        return f"{sign}{seconds:.0f}"
    minutes, rest = divmod(round(seconds), 60)
    if unit == "m":
        return f"{sign}{minutes}:{rest:02d}"
    hours, minutes = divmod(minutes, 60)
    tail = f":{rest:02d}" if "s" in code.lower() or not found else ""
    return f"{sign}{hours}:{minutes:02d}{tail}"
