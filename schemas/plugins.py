"""Plug-ins: what other installed packages register under the entry points of Pincite.

pincite.extractors   a `Format`, or an extractor that settings name     pincite.tasks.extraction.registry
pincite.chunkers     a `Chunker`                                        pincite.tasks.chunking.interface
pincite.encoders     a function that gives an `Encoder`                 pincite.encoders.interface
pincite.sources      a function that opens the source of a URL          pincite.tasks.sources.interface

How each is written stands in docs/plugins.md.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType

from pincite.schemas.errors import UsageError

EXTRACTORS, CHUNKERS, ENCODERS, SOURCES = (
    f"pincite.{what}" for what in ("extractors", "chunkers", "encoders", "sources")
)


@cache
def installed(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name, sorted; nothing of them is imported.

    Raises `UsageError` where two packages use one name.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda one: (one.name, one.value)):
        other = found.setdefault(point.name, point)
        if (other.value, package_of(other)) != (point.value, package_of(point)):
            raise UsageError(
                f"two packages register {point.name} as {group}: {package_of(other)} and {package_of(point)}. "
                "Uninstall one of them"
            )
    return MappingProxyType(found)


@cache
def load(group: str, name: str) -> object:
    """What a plug-in registers. Raises `UsageError` when there is none of this name, or when it can't be imported."""
    point = installed(group).get(name)
    if point is None:
        raise UsageError(f"no installed package registers {name} as {group}")
    try:
        loaded: object = point.load()
    except Exception as error:  # a package of the user's may raise anything
        raise UsageError(
            f"{name} ({group}) of the package {package_of(point)} can't be loaded: {type(error).__name__}: {error}. "
            "Mend the package or uninstall it"
        ) from error
    return loaded


def package_of(point: EntryPoint) -> str:
    """Name and version of the package that registers it: "acme-logs 1.2"."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def not_of_kind(group: str, name: str, loaded: object, wanted: str) -> UsageError:
    """The error for something registered that is not what its group asks for."""
    return UsageError(
        f"{name} ({group}) of the package {package_of(installed(group)[name])} is a {type(loaded).__name__}, "
        f"and not {wanted} (docs/plugins.md)"
    )
