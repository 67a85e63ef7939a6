"""What each run finishes first of what earlier ones left: spaces whose days are over, and broken off erasures."""

from pincite.storage.erasure.erase import finish_quietly
from pincite.storage.migration.state import remove_expired
from pincite.storage.runs.runs import Recovery

RECOVERY: tuple[Recovery, ...] = (remove_expired, finish_quietly)
