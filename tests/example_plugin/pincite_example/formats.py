"""The rows of the format table: light, since they are read whenever Pincite starts."""

from pincite.tasks.extraction.base.signs import Sign
from pincite.tasks.extraction.registry import Format

READINGS = Format(
    "readings of a meter",
    "pincite_example.readings:extract",
    (".readings",),
    version="1",
    textual=True,
    signs=(Sign("readings of a meter", rb"%READINGS", binary=False),),
)
