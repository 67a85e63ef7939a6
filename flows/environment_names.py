"""Variables that begin with PINCITE_ and mean nothing: a misspelt setting must not pass in silence."""

import difflib
import logging
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from pincite.schemas.settings import Settings

PREFIX = "PINCITE_"
_OTHERS = ("INDEX", "TOKEN", "VIEWER_TOKEN", "ANSWER_KEY", "LOG", "WORKER")
"""Read elsewhere: by the command line, the server, the answering endpoint, the observer and the sandbox."""

_logger = logging.getLogger(__name__)
_told: set[str] = set()


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Those with a value that no setting has, sorted. Case does not matter, as it does not for settings."""
    known = known_variables()
    return tuple(
        sorted(
            name
            for name, value in environment.items()
            if value and name.upper().startswith(PREFIX) and name.upper() not in known
        )
    )


def known_variables() -> frozenset[str]:
    defaults = Settings()
    names = {PREFIX + name for name in _OTHERS}
    for one in fields(Settings):
        whole = f"{PREFIX}{one.name.upper()}"
        names.add(whole)
        table = getattr(defaults, one.name)
        if is_dataclass(table):
            names |= {f"{whole}__{part.name.upper()}" for part in fields(table)}
    return frozenset(names)


def warn_of_unknown() -> None:
    """Names each such variable once a process, with what was meant. Others may set some on purpose."""
    for name in unknown_variables(os.environ):
        if name not in _told:
            _told.add(name)
            near = difflib.get_close_matches(name.upper(), sorted(known_variables()), 1, 0.8)
            hint = f"; was {near[0]} meant?" if near else ""
            _logger.warning("the variable %s is no setting and does nothing%s", name, hint)
