"""A migration as the HTTP API takes and gives it."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import PurePath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from pincite.dashboard.actions.migrations import MigrationStart, Seen
from pincite.dashboard.api.run_models import OrderBody, order_body
from pincite.evaluation.gate.table import MeasuredMetric
from pincite.storage.migration.state import Migration
from pincite.storage.snapshots.spaces import Kept
from pincite.tasks.migration.plan import Way

Short = Annotated[str, Field(max_length=1_000)]
_MEASURED = TypeAdapter(list[MeasuredMetric])


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StartBody(_Body):
    """A migration to be begun, or, without model and chunker, the one under way to go on."""

    model: Short = Field(default="", description="one of `models`")
    chunker: Short = Field(default="", description="one of `chunkers`")
    throttle: float = Field(default=1.0, gt=0, le=1, description="share of the time in which it works")
    questions: Short = Field(default="", description="one of `questions`: both spaces are evaluated on them")
    keep_days: Annotated[float, Field(ge=0, le=36_500, allow_inf_nan=False)] | None = Field(
        default=None, description="after the switch, until a run removes the old space; null is never"
    )
    switch: bool = Field(default=False, description="switch when it is built, or wait for the word")

    def start(self) -> MigrationStart:
        return MigrationStart(
            self.model, self.chunker, self.throttle, self.questions, self.keep_days, self.switch
        )


class SwitchBody(_Body):
    force: Short = Field(default="", description="why to switch although the gate says no")


class WaiveBody(_Body):
    documents: Annotated[list[Short], Field(min_length=1, max_length=1_000, description="paths")]


class SpaceBody(BaseModel):
    """A space of the index: chunks, vectors and postings of one kind."""

    model: str
    fingerprint: str = Field(description="of the weights")
    dimension: int
    window: int
    pipeline: str
    chunker: str
    tokenizer: str
    setting: str = Field(description="what names the model in the settings")
    live: bool = Field(description="whether it is searched")


class MigrationRow(BaseModel):
    """The migration that was begun last."""

    source: SpaceBody
    target: SpaceBody
    state: str = Field(description="building, switched, rolled back or aborted")
    stage: str = Field(
        description="of one that is building: what is done, or how the last one at work ended: building, evaluating, "
        "switching, blocked (by documents), refused (by the gate), held (waits for the word to switch), "
        "preparing (the model is loaded and its probes compared)"
    )
    standing: str = Field(
        description="the one word for how it stands: its state; of one that is building: preparing, building, "
        "evaluating or switching while someone is at work, else ready to switch, blocked, refused or interrupted"
    )
    started_at: float
    ended_at: float | None
    keep_days: float | None


class ProgressBody(BaseModel):
    """How far the space beside the live one is level with it."""

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


class BlockerBody(BaseModel):
    document_id: str
    document: str
    reason: str
    waived: bool


class GateBody(BaseModel):
    """The verdict on the new space, held against the old one on the same questions."""

    ok: bool
    forced: str = Field(description='why it was set aside; "" when it was not')
    reasons: list[str] = Field(description="why not; empty when it is let in")
    notes: list[str]
    measured: list[MeasuredMetric]
    questions: str = Field(description="name of the file")
    versions: dict[str, int] = Field(
        description="of the index, at which the old and the new space were evaluated"
    )
    changed: int = Field(description="documents of either space that changed since, while it is building")


class MigrationBody(BaseModel):
    """How a migration stands in the ledger, and what can be asked of it."""

    spaces: list[SpaceBody] = Field(description="that are kept; the one that is searched first")
    migration: MigrationRow | None
    progress: ProgressBody | None
    blockers: list[BlockerBody] = Field(description="documents that the new space can't have")
    gate: GateBody | None
    at_work: str = Field(description='who migrates; "" for nobody')
    ways: list[Way] = Field(description="that can be asked for now, beside a start")
    advice: list[str] = Field(description="what to write into the settings")
    models: list[str]
    chunkers: list[str]
    questions: list[str]
    orders: list[OrderBody]


def migration_body(found: Seen) -> MigrationBody:
    level = found.level
    return MigrationBody(
        spaces=[_space(one) for one in found.spaces],
        migration=_row(found.migration, found.spaces, found.standing) if found.migration else None,
        progress=ProgressBody(**asdict(level), share=level.share, remaining_s=level.remaining_s)
        if level
        else None,
        blockers=[
            BlockerBody(document_id=one.document_id, document=one.path, reason=one.reason, waived=one.waived)
            for one in found.blockers
        ],
        gate=gate_body(found.migration.gate, found.changed)
        if found.migration is not None and found.migration.gate is not None
        else None,
        at_work=found.at_work,
        ways=list(found.ways),
        advice=list(found.advice),
        models=list(found.offered.models),
        chunkers=list(found.offered.chunkers),
        questions=list(found.offered.questions),
        orders=[order_body(one) for one in found.orders],
    )


def gate_body(gate: Mapping[str, object], changed: int) -> GateBody:
    """A verdict as the ledger keeps it; what an older Pincite did not keep is empty."""
    kept: Mapping[str, Any] = gate
    return GateBody(
        ok=bool(kept.get("ok")),
        forced=str(kept.get("forced") or ""),
        reasons=list(kept.get("reasons") or ()),
        notes=list(kept.get("notes") or ()),
        measured=_MEASURED.validate_python(kept.get("measured") or []),
        questions=PurePath(str(kept.get("questions") or "")).name,
        versions=dict(kept.get("versions") or {}),
        changed=changed,
    )


def _space(kept: Kept, live: bool | None = None) -> SpaceBody:
    return SpaceBody(**asdict(kept.space), setting=kept.setting, live=kept.live if live is None else live)


def _row(migration: Migration, spaces: tuple[Kept, ...], standing: str) -> MigrationRow:
    live_id = spaces[0].space_id
    days = migration.settings.get("keep_days")
    return MigrationRow(
        source=_space(migration.source, migration.source.space_id == live_id),
        target=_space(migration.target, migration.target.space_id == live_id),
        state=migration.state,
        stage=migration.stage if migration.state == "building" else "",
        standing=standing,
        started_at=migration.started_at,
        ended_at=migration.ended_at,
        keep_days=days if isinstance(days, int | float) else None,
    )
