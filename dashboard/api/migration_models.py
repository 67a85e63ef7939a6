"""A migration as the HTTP API takes and gives it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from pincite.dashboard.actions.migrations import Seen
from pincite.dashboard.api.run_models import FromRecord, OrderBody
from pincite.evaluation.gate.table import MeasuredMetric
from pincite.schemas.records import Space
from pincite.storage.migration.cut_over import SpaceProgress
from pincite.storage.migration.state import Migration
from pincite.storage.migration.status import MigrationStatus
from pincite.storage.snapshots.spaces import Kept
from pincite.tasks.migration.plan import MigrationOptions, Way

Short = Annotated[str, Field(max_length=1_000)]
_MEASURED = TypeAdapter(list[MeasuredMetric])


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StartBody(_Body):
    """A migration to be begun, or, without model and chunker, the one under way to go on."""

    model: Short = Field(default="", description="one of `models`")
    chunker: Short = Field(default="", description="one of `chunkers`")
    throttle: float = Field(default=1.0, gt=0, le=1, description="share of the time in which it works")
    questions: Short = Field(
        default="", description="one of `questions`: both model versions are evaluated on them"
    )
    keep_days: Annotated[float, Field(ge=0, le=36_500, allow_inf_nan=False)] | None = Field(
        default=None, description="after the switch, until a run removes the old model version; null is never"
    )
    switch: bool = Field(default=False, description="switch when it is built, or wait for the word")

    def options(self) -> MigrationOptions:
        """Its questions are the name of a set."""
        return MigrationOptions(
            self.throttle,
            questions=Path(self.questions) if self.questions else None,
            keep_days=self.keep_days,
            switch=self.switch,
            model=self.model,
            chunker=self.chunker,
        )


class SwitchBody(_Body):
    force: Short = Field(default="", description="why to switch although the quality check says no")


class WaiveBody(_Body):
    documents: Annotated[list[Short], Field(min_length=1, max_length=1_000, description="paths")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceBody(Space):
    """A model version of the index: chunks, vectors and postings of one kind."""

    fingerprint: str = field(metadata={"description": "of the weights"})
    setting: str = field(metadata={"description": "what names the model in the settings"})
    live: bool = field(metadata={"description": "whether it is searched"})


class MigrationRow(BaseModel):
    """The migration that was begun last."""

    source: SpaceBody
    target: SpaceBody
    state: str = Field(description="building, switched, rolled back or aborted")
    stage: str = Field(
        description="of one that is building: what is done, or how the last one at work ended: building, evaluating, "
        "switching, blocked (by documents), refused (by the quality check), held (waits for the word to switch), "
        "preparing (the model is loaded and its probes compared)"
    )
    standing: str = Field(
        description="the one word for how it stands: its state; of one that is building: preparing, building, "
        "evaluating or switching while someone is at work, else ready to switch, blocked, refused or interrupted"
    )
    started_at: float
    ended_at: float | None
    keep_days: float | None


class ProgressBody(FromRecord):
    """How far the model version beside the live one is level with it."""

    documents: int
    documents_done: int
    chunks: int
    chunks_done: int
    chunks_per_s: float | None = Field(description="lately; null before the first batch")
    stage_s: float | None = Field(
        description="seconds since its stage began; null of one that is not building"
    )
    share: float
    remaining_s: float | None


class BlockerBody(FromRecord):
    document_id: str
    document: str = Field(validation_alias="path")
    reason: str
    waived: bool


class GateBody(BaseModel):
    """The verdict on the new model version, held against the old one on the same questions."""

    ok: bool
    forced: str = Field(description='why it was set aside; "" when it was not')
    reasons: list[str] = Field(description="why not; empty when it is let in")
    notes: list[str]
    measured: list[MeasuredMetric]
    questions: str = Field(description="name of the file")
    versions: dict[str, int] = Field(
        description="of the index, at which the old and the new model version were evaluated"
    )
    changed: int = Field(
        description="documents of either model version that changed since, while it is building"
    )


class MigrationBody(BaseModel):
    """How a migration stands in the ledger, and what can be asked of it."""

    spaces: list[SpaceBody] = Field(description="that are kept; the one that is searched first")
    migration: MigrationRow | None
    progress: ProgressBody | None
    blockers: list[BlockerBody] = Field(description="documents that the new model version can't have")
    gate: GateBody | None
    at_work: str = Field(description='who migrates; "" for nobody')
    ways: list[Way] = Field(description="that can be asked for now, beside a start")
    advice: list[str] = Field(description="what to write into the settings")
    models: list[str]
    chunkers: list[str]
    questions: list[str]
    orders: list[OrderBody]


def migration_body(found: Seen) -> MigrationBody:
    status, offered = found.status, found.offered
    progress = progress_shown(status)
    return MigrationBody(
        spaces=[_space(one) for one in status.spaces],
        migration=_row(status.migration, status.standing) if status.migration else None,
        progress=ProgressBody.model_validate(progress) if progress else None,
        blockers=[BlockerBody.model_validate(one) for one in status.blockers],
        gate=gate_body(status),
        at_work=status.at_work,
        ways=list(found.ways),
        advice=list(found.advice),
        models=list(offered.models),
        chunkers=list(offered.chunkers),
        questions=list(offered.questions),
        orders=[OrderBody.model_validate(one) for one in found.orders],
    )


def progress_shown(status: MigrationStatus) -> SpaceProgress | None:
    """None where no other model version is kept that could be level."""
    return status.progress if len(status.spaces) > 1 else None


def gate_body(status: MigrationStatus) -> GateBody | None:
    """The verdict as the ledger keeps it; what an older Pincite did not keep is empty."""
    if status.migration is None or status.migration.gate is None:
        return None
    kept: Mapping[str, Any] = status.migration.gate
    return GateBody(
        ok=bool(kept.get("ok")),
        forced=str(kept.get("forced") or ""),
        reasons=list(kept.get("reasons") or ()),
        notes=list(kept.get("notes") or ()),
        measured=_MEASURED.validate_python(kept.get("measured") or []),
        questions=PurePath(str(kept.get("questions") or "")).name,
        versions=dict(kept.get("versions") or {}),
        changed=status.changed if status.migration.state == "building" else 0,
    )


def _space(kept: Kept) -> SpaceBody:
    return SpaceBody(**asdict(kept.space), setting=kept.setting, live=kept.live)


def _row(migration: Migration, standing: str) -> MigrationRow:
    days = migration.settings.get("keep_days")
    return MigrationRow(
        source=_space(migration.source),
        target=_space(migration.target),
        state=migration.state,
        stage=migration.stage if migration.state == "building" else "",
        standing=standing,
        started_at=migration.started_at,
        ended_at=migration.ended_at,
        keep_days=days if isinstance(days, int | float) else None,
    )
