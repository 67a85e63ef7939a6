"""How a spreadsheet shows a value: the number format codes of ECMA-376 part 1, 18.8.31.

code → sections → the section for this value → digits in its places. English month and day names; `General` shows
up to 15 significant digits, so that nothing stored is lost; a value that its code hides is shown as `General`.
Measured against the public vectors of SheetJS in docs/extraction.md.
"""

import datetime as dt
import math
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

from openpyxl.utils.datetime import from_excel

from pincite.tasks.extraction.office.date_format import elapsed, moment
from pincite.tasks.extraction.office.format_code import FormatSection, FormatToken, sections_of

Scalar = str | int | float | bool | dt.datetime | dt.date | dt.time | dt.timedelta

# The codes 14 and 22 stand for the reader's own short date; Excel shows it so in American English.
_SHORT_DATES = {"mm-dd-yy": "m/d/yyyy", "m/d/yy h:mm": "m/d/yyyy h:mm"}
_EXACT = Context(prec=700)  # digits of the largest float and of a long fraction
_MOST_DENOMINATOR_DIGITS = 9
_WIDEST_SMALL = 11  # characters of a small number that is written without an exponent


def shown(value: Scalar, code: str) -> str:
    """`value` as the format `code` shows it, without the white space around it."""
    if isinstance(value, str):
        return _text(value, sections_of(code))
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dt.timedelta):
        return elapsed(value, _dated(code))
    if isinstance(value, dt.date | dt.time):
        return moment(value, _dated(_SHORT_DATES.get(code, code)))
    return _number(value, code)


def general(number: int | float) -> str:
    """Whole numbers without a point, others with up to 15 significant digits."""
    if isinstance(number, int) or (number.is_integer() and abs(number) < 1e15):
        return str(int(number))
    text = format(number, ".15g")
    if "e" not in text:
        return text
    plain = f"{Decimal(text):f}"
    return plain if len(plain) <= _WIDEST_SMALL else text.upper()


def _dated(code: str) -> FormatSection:
    sections = sections_of(code)
    return next((section for section in sections if section.is_date), sections[0])


def _text(value: str, sections: tuple[FormatSection, ...]) -> str:
    """Text in the fourth section, or in the last that has a place for it; else as it is."""
    if len(sections) < 4 and (not sections[-1].has("at") or sections[-1].has("digit")):
        return value
    section = sections[min(len(sections), 4) - 1]
    text = "".join(value if token.kind in ("at", "general") else _literal(token) for token in section.tokens)
    return text.strip() or value


def _number(value: int | float, code: str) -> str:
    if not math.isfinite(value):
        return general(value)
    section, own_sign = _section(sections_of(code), value)
    if section.is_date:
        try:
            if section.has("elapsed"):
                return elapsed(dt.timedelta(days=value), section)
            return shown(from_excel(float(value)), code)
        except (ValueError, OverflowError):
            return general(value)
    text = _filled(section, abs(value))
    negative = (
        value < 0 and (not own_sign or section.has("general")) and section.has("digit", "general", "at")
    )
    if negative and any(sign.isalnum() and sign != "0" for sign in text):
        text = f"-{text.strip()}"
    return text.strip() or ("" if value == 0 else general(value))


def _section(sections: tuple[FormatSection, ...], value: float) -> tuple[FormatSection, bool]:
    """(the part of the code for this value, whether that part shows the sign itself)."""
    numeric = sections[:3]
    if 1 < len(sections) < 4 and sections[-1].has("at") and not sections[-1].has("digit"):
        numeric = sections[:-1]  # the last is for text
    if any(section.comparison for section in numeric[:2]):
        for at, section in enumerate(numeric):
            last = at == len(numeric) - 1
            if section.comparison:
                if section.admits(value):
                    return section, section.comparison in ("<", "<=") and section.bound <= 0
            elif last or (at == 0 and value > 0) or (at == 1 and value < 0):
                return section, at == 1 and value < 0 and not last
        return numeric[-1], False
    if value < 0 and len(numeric) > 1:
        return numeric[1], True
    return numeric[2] if value == 0 and len(numeric) > 2 else numeric[0], False


def _filled(section: FormatSection, value: int | float) -> str:
    """A value that is not negative in the places of a section."""
    tokens = section.tokens
    if section.has("general") or (section.has("at") and not section.has("digit")):
        first = next(at for at, token in enumerate(tokens) if token.kind in ("general", "at"))
        return "".join(general(value) if at == first else _literal(token) for at, token in enumerate(tokens))
    if not section.has("digit"):
        return "".join(map(_literal, tokens))
    amount = Decimal(repr(value)) * Decimal(100) ** sum(token.kind == "percent" for token in tokens)
    if section.has("exponent"):
        return _scientific(tokens, amount)
    tokens = _without_room_at_slash(tokens)
    slash = next((at for at, token in enumerate(tokens) if token.kind == "slash"), -1)
    if (
        0 < slash < len(tokens) - 1
        and tokens[slash - 1].kind == "digit"
        and _denominator(tokens[slash + 1 :])
    ):
        return _fraction(tokens, slash, amount)
    return _fixed(tokens, amount)


def _fixed(tokens: tuple[FormatToken, ...], amount: Decimal) -> str:
    """Digits from the point outwards; literals keep their places between them."""
    point = next((at for at, token in enumerate(tokens) if token.kind == "point"), len(tokens))
    whole, rest = tokens[:point], tokens[point:]
    places = sum(token.kind == "digit" for token in rest)
    last = max((at for at, token in enumerate(tokens) if token.kind == "digit"), default=0)
    amount /= Decimal(1000) ** _scaling_commas(tokens, point, last)
    rounded = amount.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP, context=_EXACT)
    before, _, after = f"{rounded:f}".partition(".")
    first = next((at for at, token in enumerate(whole) if token.kind == "digit"), -1)
    end = max((at for at, token in enumerate(whole) if token.kind == "digit"), default=-1)
    grouped = first >= 0 and any(token.kind == "comma" for token in whole[first:end])
    return _whole_part(whole, before.lstrip("0"), grouped) + _decimals(rest, after)


def _scaling_commas(tokens: tuple[FormatToken, ...], point: int, last: int) -> int:
    """Commas right after the last digit before the point, or the last of all: each divides by a thousand."""
    whole_end = max((at for at, token in enumerate(tokens[:point]) if token.kind == "digit"), default=-1)
    count = 0
    for end in {whole_end, last} - {-1}:
        for token in tokens[end + 1 :]:
            if token.kind != "comma":
                break
            count += 1
    return count


def _whole_part(tokens: tuple[FormatToken, ...], digits: str, grouped: bool) -> str:
    """From the right; the leftmost place takes all digits that are left."""
    first = next((at for at, token in enumerate(tokens) if token.kind == "digit"), -1)
    if first < 0:
        return "".join(map(_literal, tokens)) + digits
    out: list[str] = []
    written = 0

    def write(digit: str) -> None:
        nonlocal written
        if grouped and written and written % 3 == 0 and digit.strip():
            out.append(",")
        out.append(digit)
        written += 1

    for at in range(len(tokens) - 1, -1, -1):
        token = tokens[at]
        if token.kind != "digit":
            out.append(_literal(token))
            continue
        if digits or token.text != "#":
            write(digits[-1:] or ("0" if token.text == "0" else " "))
        digits = digits[:-1]
        while at == first and digits:
            write(digits[-1])
            digits = digits[:-1]
    return (
        "".join(piece[::-1] for piece in out)[::-1]
        if all(len(p) < 2 for p in out)
        else "".join(reversed(out))
    )


def _decimals(tokens: tuple[FormatToken, ...], digits: str) -> str:
    """The point and what follows; "#" shows no zero at the end, "?" room for it."""
    text, at = "", 0
    for token in tokens:
        if token.kind == "point":
            text += "."
        elif token.kind != "digit":
            text += _literal(token)
        else:
            idle = not digits[at:].strip("0")
            text += digits[at] if token.text == "0" or not idle else " " if token.text == "?" else ""
            at += 1
    return text


def _scientific(tokens: tuple[FormatToken, ...], amount: Decimal) -> str:
    """The exponent is a multiple of the number of places before the point: "##0.0E+0" shows 12.3E+3."""
    cut = next(at for at, token in enumerate(tokens) if token.kind == "exponent")
    mantissa, rest = tokens[:cut], tokens[cut + 1 :]
    point = next((at for at, token in enumerate(mantissa) if token.kind == "point"), len(mantissa))
    step = max(1, sum(token.kind == "digit" for token in mantissa[:point]))
    places = sum(token.kind == "digit" for token in mantissa[point:])
    power = amount.adjusted() // step * step if amount else 0
    scaled = round(amount.scaleb(-power), places)
    if scaled and scaled.adjusted() >= step:  # 999.96 became 1000.0
        power += step
        scaled = amount.scaleb(-power)
    sign = "-" if power < 0 else "+" if tokens[cut].text[1] == "+" else ""
    body = _whole_exponent(rest, str(abs(power)))
    return f"{_fixed(mantissa, scaled)}E{sign}{body}"


def _whole_exponent(tokens: tuple[FormatToken, ...], digits: str) -> str:
    """An exponent in its places, at least one digit of it."""
    return (
        _whole_part(tokens, digits.lstrip("0"), grouped=False)
        if digits != "0"
        else (_whole_part(tokens, "0", grouped=False))
    )


def _without_room_at_slash(tokens: tuple[FormatToken, ...]) -> tuple[FormatToken, ...]:
    """ "# ?? / ??" is read as "# ??/??"."""
    kept = list(tokens)
    for at in [at for at, token in enumerate(tokens) if token.kind == "slash"]:
        for beside in (at + 1, at - 1):
            if 0 <= beside < len(tokens) and tokens[beside].text == " ":
                kept[beside] = FormatToken("text", "")
    return tuple(token for token in kept if token.kind != "text" or token.text)


def _denominator(tokens: tuple[FormatToken, ...]) -> tuple[int, int]:
    """(places, 0) of a denominator that is sought, (0, itself) of one that the code names, () else."""
    places, number = 0, ""
    for token in tokens:
        if token.kind == "digit" and (token.text != "0" or not number):
            places += 1
        elif (token.kind == "text" and token.text.isdigit()) or (token.kind == "digit" and number):
            number += token.text
        else:
            break
    if number:
        return (0, int(number)) if len(number) <= _MOST_DENOMINATOR_DIGITS else (0, 0)
    return places, 0


def _fraction(tokens: tuple[FormatToken, ...], slash: int, amount: Decimal) -> str:
    """ "# ?/?" shows a whole number and a fraction, "?/?" a fraction alone."""
    start = slash
    while start and tokens[start - 1].kind == "digit":
        start -= 1
    places, named = _denominator(tokens[slash + 1 :])
    end = slash + 1
    while end < len(tokens) and (tokens[end].kind == "digit" or (named and tokens[end].text.isdigit())):
        end += 1
    mixed = any(token.kind == "digit" for token in tokens[:start])
    exact = Fraction(amount)
    whole = int(exact) if mixed else 0
    rest = exact - whole
    if named:
        part = Fraction(math.floor(rest * named + Fraction(1, 2)), named)
        above, below = int(part * named), named
    else:
        above, below = _convergent(rest, 10 ** min(max(places, 1), _MOST_DENOMINATOR_DIGITS) - 1)
    if mixed and above == below:
        whole, above = whole + 1, 0
    lead = _whole_part(tokens[:start], str(whole) if mixed and (whole or not above) else "", grouped=False)
    tail = "".join(map(_literal, tokens[end:]))
    return lead + (f"{above}/{below}" if above or not mixed else "") + tail


def _convergent(number: Fraction, most: int) -> tuple[int, int]:
    """The last convergent of the continued fraction whose denominator is at most `most`, as Excel has it."""
    above, below, last_above, last_below = 1, 0, 0, 1
    rest = number
    while True:
        term = math.floor(rest)
        above, last_above = term * above + last_above, above
        below, last_below = term * below + last_below, below
        if below > most:
            return last_above, last_below
        if rest == term:
            return above, below
        rest = 1 / (rest - term)


def _literal(token: FormatToken) -> str:
    return token.text if token.kind in ("text", "percent", "slash") else ""
