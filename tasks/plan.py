"""Plan: what the settings mean for a run."""

from encoders.models import Model
from encoders.terms import TOKENIZER
from schemas.records import Policy, Space
from schemas.settings import PIPELINE_VERSION, Settings, limits_digest, recipe
from tasks.chunking.chunk import require_strategy


def space_of(model: Model, settings: Settings) -> Space:
    """The space of an index made with these settings. Raises `UsageError` for an unknown chunker."""
    require_strategy(settings.chunker)
    return Space(
        model=model.name,
        fingerprint=model.fingerprint,
        dimension=model.dimension,
        window=model.window,
        pipeline=PIPELINE_VERSION,
        chunker=settings.chunker,
        tokenizer=TOKENIZER,
    )


def policy_of(settings: Settings, retry: tuple[str, ...] | None = None) -> Policy:
    """Which documents a run takes up; `retry` as in `Policy`."""
    return Policy(recipe(settings), limits_digest(settings), settings.attempts, retry)
