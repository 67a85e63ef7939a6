"""Settings from `pincite.toml` in the working directory and from the environment; the environment wins.

chunker = "E"                     PINCITE_CHUNKER=E
[limits]
deadline_s = 60                   PINCITE_LIMITS__DEADLINE_S=60
[ocr]
languages = ["eng", "deu"]        PINCITE_OCR__LANGUAGES=eng,deu
[collections.manuals]
source = "s3://bucket/manuals"    PINCITE_COLLECTIONS='{"manuals": {"source": "…"}}'
[schedule]
cron = "0 2 * * *"                PINCITE_SCHEDULE__CRON="0 2 * * *"
[answer]
base_url = "http://…/v1"          PINCITE_ANSWER__BASE_URL=http://…/v1

The key of the endpoint is PINCITE_ANSWER_KEY, only there: a file with settings is shared too easily.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)
from pydantic_settings import TomlConfigSettingsSource as TomlSource

from pincite.flows.environment_names import warn_of_unknown
from pincite.schemas.errors import UsageError
from pincite.schemas.settings import Answer, CollectionSettings, Limits, Notify, Ocr, Schedule, Settings
from pincite.tasks.extraction.registry import formats
from pincite.tasks.extraction.user_extractors import FORM

SETTINGS_FILE = "pincite.toml"
_TABLES = {"limits": Limits, "ocr": Ocr, "answer": Answer, "schedule": Schedule, "notify": Notify}
_LISTS = {"languages"}  # in tables
_DEFAULTS = Settings()


class _Sources(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix="PINCITE_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        toml_file=SETTINGS_FILE,
        extra="forbid",
    )

    model: str = _DEFAULTS.model
    chunker: str = _DEFAULTS.chunker
    reranker: str = _DEFAULTS.reranker
    limits: Limits = _DEFAULTS.limits
    ocr: Ocr = _DEFAULTS.ocr
    answer: Answer = _DEFAULTS.answer
    collections: dict[str, CollectionSettings] = {}
    schedule: Schedule = _DEFAULTS.schedule
    notify: Notify = _DEFAULTS.notify
    questions: str = _DEFAULTS.questions
    workers: int = _DEFAULTS.workers
    attempts: int = _DEFAULTS.attempts
    include_hidden_text: bool = _DEFAULTS.include_hidden_text
    windows: bool = _DEFAULTS.windows
    rank_boilerplate: bool = _DEFAULTS.rank_boilerplate
    read_attachments: bool = _DEFAULTS.read_attachments
    follow_links_out: bool = _DEFAULTS.follow_links_out
    environment: Annotated[tuple[str, ...], NoDecode] = ()
    extractors: dict[str, str] = {}

    @field_validator("extractors")
    @classmethod
    def _name_functions(cls, given: dict[str, str]) -> dict[str, str]:
        for suffix, address in given.items():
            if not FORM.fullmatch(address) or not suffix.startswith("."):
                raise ValueError(
                    f'{suffix} = "{address}" is not of the form ".suffix" = "file.py:function", '
                    '"module:function" or the name of an extractor'
                )
            if ":" not in address and address not in formats():
                raise ValueError(
                    f'{suffix} = "{address}": no extractor has this name. There are: {", ".join(formats())}; a '
                    'function of your own is given as "file.py:function"'
                )
        return {suffix.lower(): address for suffix, address in given.items()}

    @field_validator("ocr", mode="before")
    @classmethod
    def _read_lists(cls, given: Any) -> Any:
        """JSON in a variable is read for pydantic's own models, not for what stands in a plain dataclass."""
        if not isinstance(given, dict):
            return given
        return {name: _as_list(value) if name in _LISTS else value for name, value in given.items()}

    @field_validator("environment", mode="before")
    @classmethod
    def _read_list(cls, given: Any) -> Any:
        return _as_list(given)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _TomlFile(settings_cls)


class _TomlFile(TomlSource):
    """As pydantic reads it, also with the byte order mark that editors of Windows write."""

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        return tomllib.loads(file_path.read_text(encoding="utf-8-sig"))


def _as_list(given: Any) -> Any:
    """`eng,deu`, `eng deu` and JSON are the same list."""
    if not isinstance(given, str):
        return given
    return json.loads(given) if given.lstrip().startswith("[") else re.split(r"[,;+\s]+", given.strip(" ,;+"))


def load_settings(**given: Any) -> Settings:
    """The settings, with what the command line gave on top. Raises `UsageError` naming every wrong one."""
    warn_of_unknown()
    try:
        _refuse_unknown_keys()
        read = _Sources(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise UsageError(f"wrong settings (file {SETTINGS_FILE} or PINCITE_… variables): {faults}") from error
    except (SettingsError, tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(
            f"settings can't be read (file {SETTINGS_FILE} or PINCITE_… variables): {error}"
        ) from error
    values = {field.name: getattr(read, field.name) for field in fields(Settings) if field.name != "folder"}
    settings = Settings(**values, folder=os.getcwd())
    if wrong := list(_out_of_range(settings)):
        raise UsageError(f"wrong settings (file {SETTINGS_FILE} or PINCITE_… variables): {'; '.join(wrong)}")
    return settings


def _out_of_range(settings: Settings) -> Iterator[str]:
    if settings.workers < 0:
        yield f"workers is {settings.workers}: 0 is one per core"
    if settings.attempts < 1:
        yield f"attempts is {settings.attempts}: at least 1"
    amounts = {f"limits.{name}": value for name, value in asdict(settings.limits).items()}
    for name, value in (amounts | {"ocr.dpi": settings.ocr.dpi}).items():
        if not value > 0:  # also true for NaN
            yield f"{name} is {value}: it must be above 0"
    yield from _wrong_schedule(settings.schedule)
    if settings.notify.url and not settings.notify.url.startswith(("http://", "https://")):
        yield "notify.url is no address of a web server: http://… or https://…"
    if not settings.notify.timeout_s > 0:
        yield f"notify.timeout_s is {settings.notify.timeout_s}: it must be above 0"
    if not 0 <= settings.ocr.low_confidence <= 100:
        yield f"ocr.low_confidence is {settings.ocr.low_confidence}: it lies between 0 and 100"


def _wrong_schedule(schedule: Schedule) -> Iterator[str]:
    if schedule.cron and len(schedule.cron.split()) != 5:
        yield f"schedule.cron is {schedule.cron!r}: five fields, minute hour day month weekday"
    try:
        ZoneInfo(schedule.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        yield f"schedule.timezone is {schedule.timezone!r}: a name as Europe/Kyiv"


def _refuse_unknown_keys() -> None:
    """The tables are plain dataclasses, of which pydantic would ignore an unknown key: a typo must not pass."""
    path = Path(SETTINGS_FILE)
    content = tomllib.loads(path.read_text(encoding="utf-8-sig")) if path.is_file() else {}
    for table, record in _TABLES.items():
        _refuse_unknown_in(table, content.get(table, {}), {field.name for field in fields(record)})
    known = {field.name for field in fields(CollectionSettings)}
    collections = content.get("collections", {})
    for name, values in collections.items() if isinstance(collections, dict) else ():
        _refuse_unknown_in(f"collections.{name}", values, known)


def _refuse_unknown_in(table: str, values: object, known: set[str]) -> None:
    if not isinstance(values, dict):
        raise UsageError(f"{SETTINGS_FILE}: {table} is a table: write [{table}] and its settings below it")
    if unknown := sorted(set(values) - known):
        raise UsageError(
            f"{SETTINGS_FILE} has unknown settings in [{table}]: {', '.join(unknown)}. "
            f"Known are: {', '.join(sorted(known))}"
        )
