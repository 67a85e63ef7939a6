"""What settings mean for an index that is there: they follow its space where they name none."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pincite.encoders.models import Model, resolve_model
from pincite.encoders.terms import TOKENIZER
from pincite.schemas.errors import ModelUnavailable, PinciteError
from pincite.schemas.records import Configuration, Policy, Space
from pincite.schemas.settings import PIPELINE_VERSION, Settings, completed, recipe
from pincite.storage.queries.staleness import extractors_in_use
from pincite.storage.snapshots.index import Index, has_index
from pincite.storage.snapshots.spaces import Kept, spaces_of
from pincite.tasks.extraction.registry import formats
from pincite.tasks.extraction.stamps import current_version
from pincite.tasks.extraction.user_extractors import version_of
from pincite.tasks.steps.plan import NOTHING_MORE, UpdateRequest, policy_of, space_of


def setting_of(given: str, model: Model) -> str:
    """What names a model in the settings wherever they are read: its folder in full, or its known name."""
    folder = Path(given).expanduser()
    return str(model.folder) if folder.is_dir() and folder.resolve() == model.folder else model.name


def resolved(index: Index, settings: Settings) -> Settings:
    """The settings with model and chunker of the index where they name none."""
    live = spaces_of(index)[0]
    return completed(settings, live.setting, live.space.chunker)


def require_space_of(index: Index, settings: Settings) -> None:
    """Raises `SpaceMismatch` when the settings name another space than the index is of."""
    whole = resolved(index, settings)
    index.require_space(space_of(resolve_model(whole.model), whole))


def made_or_opened(path: Path, settings: Settings) -> Index:
    """The index, made if there is none. Raises `SpaceMismatch` when the settings name another space."""
    if not has_index(path):
        whole = completed(settings)
        model = resolve_model(whole.model)
        return Index.create(path, space_of(model, whole), setting_of(whole.model, model))
    index = Index.open(path)
    try:
        require_space_of(index, settings)
    except PinciteError:
        index.close()
        raise
    return index


def advice(settings: Settings, live: Kept) -> tuple[str, ...]:
    """What to write into settings that name another model or chunker than the index now has; () when none is due."""
    told = []
    for name, named, own in (
        ("model", settings.model, live.setting),
        ("chunker", settings.chunker, live.space.chunker),
    ):
        if named and named != own:
            told.append(
                f'the settings (pincite.toml or PINCITE_{name.upper()}) say {name} = "{named}": write '
                f'{name} = "{own}" there or leave it out; until then `pincite index` and searches are refused'
            )
    return tuple(told)


def makeable(space: Space) -> bool:
    """Whether this Pincite can make documents of a space, if its model is on this machine."""
    return (space.pipeline, space.tokenizer) == (PIPELINE_VERSION, TOKENIZER)


def policy_for(index: Index, settings: Settings, request: UpdateRequest = NOTHING_MORE) -> Policy:
    """As `policy_of`; also what another version of its extractor made is taken up."""
    policy = policy_of(settings, request)
    return replace(policy, extractors=current_versions(index, settings))


def configuration(index: Index, settings: Settings) -> Configuration:
    """What documents of the index would be made with now.

    The space is not compared where the settings follow the index and its model is not on this machine, which a
    search and `pincite doctor` say: what is stored can be told without it. Raises `ModelUnavailable` and
    `UsageError` for a model or chunker that the settings name and that can't be used.
    """
    live = spaces_of(index)[0]
    whole = completed(settings, live.setting, live.space.chunker)
    try:
        space = space_of(resolve_model(whole.model), whole)
    except ModelUnavailable:
        if settings.model:
            raise
        return Configuration(recipe(settings), extractors=current_versions(index, settings))
    return Configuration(recipe(settings), space, current_versions(index, settings))


def current_versions(index: Index, settings: Settings) -> Mapping[str, str]:
    """The versions now of the extractors that made what is in the index: the product's, and the settings' own.

    No module is looked for because an index names it: it may be another's. Before own extractors were stamped with
    their addresses, they had names of their own: what bears one is read again where the settings have extractors.
    """
    versions = {name: _version_now(name, settings) for name in extractors_in_use(index)}
    return {name: version for name, version in versions.items() if version is not None}


def _version_now(name: str, settings: Settings) -> str | None:
    addresses = set(settings.extractors.values())
    if name in formats():
        return current_version(name)
    if name in addresses:
        return version_of(name, settings.folder) or None
    return "named by its address" if addresses and ":" not in name else None
