"""What a person can do about a failure, by its kind."""

from schemas.retrying import outlook_of

_REMEDIES = {
    "unsupported": "Convert the file to a format that is read (PDF, Word, HTML, text), replace it, and run again; or "
    "leave it out by a pattern of the collection.",
    "encrypted": "Save the file without its password, replace it, and retry.",
    "unreadable": "Open the file: if it is empty or damaged, replace it with a sound one, then retry.",
    "limit": "Split the file, or raise the limit that the reason names in pincite.toml; the next run tries it again.",
    "invariant": "Report it with the file: what was made of it was not fit to be published.",
    "misread": "Retry once; if it fails again, save the file anew from its program and replace it.",
    "unavailable": "Bring the source back into reach, then retry.",
    "unfit": "Rename it, or put a regular file in its place: the next run takes it up.",
    "changed": "Wait until the file is at rest, then retry.",
    "crashed": "Retry once; if it fails again, save the file anew from its program and replace it.",
    "deadline": "Retry when the machine is less busy, split the file, or raise limits.deadline_s in pincite.toml.",
    "memory limit": "Split the file, or raise limits.memory_bytes in pincite.toml, then retry.",
    "ocr-unavailable": "Install tesseract and the language that the reason names, then retry.",
    "lost": "Retry: the run was ended from outside.",
}
_OTHER = "Retry once; if it fails again, report it with the reason and the file."


def remedy_of(kind: str | None) -> str:
    """In words; "" without a failure."""
    return _REMEDIES.get(kind, _OTHER) if kind else ""


def outlook_words(kind: str | None) -> str:
    """Whether another attempt may help while nothing changes, and why."""
    if not kind:
        return ""
    outlook = outlook_of(kind)
    return f"{'may pass by itself' if outlook.transient else 'will not pass by itself'}: {outlook.why}"
