"""What an invitation says (iCalendar, RFC 5545): of each event or task its lines in words."""

import re
from collections.abc import Iterator

_SHOWN = {
    "SUMMARY": "Event",
    "DTSTART": "Begins", "DTEND": "Ends", "DUE": "Due", "DURATION": "Duration", "RRULE": "Repeats",
    "LOCATION": "Place", "ORGANIZER": "Organizer", "ATTENDEE": "Attendee", "STATUS": "Status", "URL": "Address",
    "DESCRIPTION": "Description", "COMMENT": "Comment",
}  # fmt: skip
_COMPONENTS = ("VEVENT", "VTODO", "VJOURNAL")
_LINE = re.compile(r"([A-Za-z-]{1,60})((?:;[^:;=\"]{1,60}=(?:\"[^\"]*\"|[^:;\"]*))*):(.*)", re.DOTALL)
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?")
_NAME = re.compile(r";CN=(\"[^\"]*\"|[^:;]*)", re.IGNORECASE)
_ZONE = re.compile(r";TZID=(\"[^\"]*\"|[^:;]*)", re.IGNORECASE)
_ESCAPES = {"\\n": "\n", "\\N": "\n", "\\,": ",", "\\;": ";", "\\\\": "\\"}


def calendar_paragraphs(source: str) -> Iterator[str]:
    """A paragraph for each event or task; for a calendar without any, its lines as they are written."""
    found = False
    open_components: list[str] = []
    lines: list[str] = []
    for line in _unfolded(source):
        word, _, value = line.partition(":")
        if word.upper() == "BEGIN":
            open_components.append(value.strip().upper())
        elif word.upper() == "END":
            if open_components and open_components.pop() in _COMPONENTS and lines:
                found = True
                yield "\n".join(lines)
                lines = []
        elif open_components and open_components[-1] in _COMPONENTS and (shown := _shown(line)):
            lines.append(shown)
    if lines:
        yield "\n".join(lines)  # cut off before its end
    elif not found and source.strip():
        yield source


def _unfolded(source: str) -> list[str]:
    return re.sub(r"\r?\n[ \t]", "", source).splitlines()


def _shown(line: str) -> str:
    match = _LINE.fullmatch(line)
    label = _SHOWN.get(match[1].upper(), "") if match else ""
    if match is None or not label:
        return ""
    value = re.sub(r"\\[nN,;\\]", lambda escape: _ESCAPES[escape[0]], match[3]).strip()
    if label in ("Begins", "Ends", "Due"):
        value = _time(value, match[2])
    elif label in ("Organizer", "Attendee"):
        value = _person(value, match[2])
    return f"{label}: {value}" if value else ""


def _time(value: str, parameters: str) -> str:
    match = _TIME.fullmatch(value)
    if match is None:
        return value
    zone = _ZONE.search(parameters)
    day = f"{match[1]}-{match[2]}-{match[3]}"
    if not match[4]:
        return day
    where = " UTC" if match[7] else f" {zone[1].strip(chr(34))}" if zone else ""
    return f"{day} {match[4]}:{match[5]}{where}"


def _person(value: str, parameters: str) -> str:
    name, address = _NAME.search(parameters), re.sub("^mailto:", "", value, flags=re.IGNORECASE)
    return f"{name[1].strip(chr(34))} <{address}>" if name else address
