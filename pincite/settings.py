"""Settings from `pincite.toml` in the working directory and from the environment; the environment wins.

chunker = "E"                     PINCITE_CHUNKER=E
[limits]
deadline_s = 60                   PINCITE_LIMITS__DEADLINE_S=60
[ocr]
languages = ["eng", "deu"]        PINCITE_OCR__LANGUAGES='["eng", "deu"]'
"""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError
from pydantic_settings import TomlConfigSettingsSource as TomlSource

from schemas.errors import UsageError
from schemas.settings import Limits, Ocr, Settings

SETTINGS_FILE = "pincite.toml"
_TABLES = {"limits": Limits, "ocr": Ocr}
_DEFAULTS = Settings()


class _Sources(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="PINCITE_", env_nested_delimiter="__", toml_file=SETTINGS_FILE, extra="forbid"
    )

    model: str = _DEFAULTS.model
    chunker: str = _DEFAULTS.chunker
    reranker: str = _DEFAULTS.reranker
    limits: Limits = _DEFAULTS.limits
    ocr: Ocr = _DEFAULTS.ocr
    workers: int = _DEFAULTS.workers
    attempts: int = _DEFAULTS.attempts
    include_hidden_text: bool = _DEFAULTS.include_hidden_text
    extractors: dict[str, str] = {}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlSource(settings_cls)


def load_settings(**given: Any) -> Settings:
    """The settings, with what the command line gave on top. Raises `UsageError` naming every wrong one."""
    try:
        _refuse_unknown_keys()
        read = _Sources(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise UsageError(f"wrong settings (file {SETTINGS_FILE} or PINCITE_… variables): {faults}") from error
    except (SettingsError, tomllib.TOMLDecodeError) as error:
        raise UsageError(
            f"settings can't be read (file {SETTINGS_FILE} or PINCITE_… variables): {error}"
        ) from error
    return Settings(**{field.name: getattr(read, field.name) for field in fields(Settings)})


def _refuse_unknown_keys() -> None:
    """The tables are plain dataclasses, of which pydantic would ignore an unknown key: a typo must not pass."""
    path = Path(SETTINGS_FILE)
    content = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for table, record in _TABLES.items():
        known = {field.name for field in fields(record)}
        if unknown := sorted(set(content.get(table, {})) - known):
            raise UsageError(
                f"{SETTINGS_FILE} has unknown settings in [{table}]: {', '.join(unknown)}. "
                f"Known are: {', '.join(sorted(known))}"
            )
