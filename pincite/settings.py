"""Settings, for the commands: they are read in `flows.settings`, since a scheduled run reads them too."""

from flows.settings import SETTINGS_FILE, load_settings

__all__ = ["SETTINGS_FILE", "load_settings"]
