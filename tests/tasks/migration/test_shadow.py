"""Which document is to blame when the child that derives them ends."""

from collections.abc import Sequence
from typing import cast

import pytest

from pincite.encoders.models import resolve_model
from pincite.schemas.errors import Failure
from pincite.schemas.settings import DEFAULT_MODEL, Settings
from pincite.tasks.migration.derive import Derived, DeriveOrder, Known
from pincite.tasks.migration.shadow import _Children
from pincite.tasks.sandbox.pool import Pool, StageFailed
from pincite.tasks.steps.plan import space_of

DOCUMENTS = [Known(name, "", ()) for name in ("a", "b", "c")]


class Ending:
    """Children of which each of the first orders fails in this way; later ones succeed."""

    def __init__(self, *kinds: str) -> None:
        self.kinds = list(kinds)
        self.asked: list[str] = []

    def run(self, _stage: str, order: DeriveOrder, _deadline_s: float) -> tuple[Derived, ...]:
        self.asked.append("".join(one.document_id for one in order.documents))
        if kind := self.kinds.pop(0) if self.kinds else "":
            raise StageFailed(Failure("derive", kind, f"it {kind}"))
        return tuple(Derived(one.document_id, (), (), None) for one in order.documents)


@pytest.mark.parametrize(
    ("documents", "kinds", "asked", "blamed"),
    [
        (1, ["crashed"], ["a", "a"], []),
        (1, ["crashed", "crashed"], ["a", "a", "a"], []),
        (1, ["crashed", "crashed", "crashed"], ["a", "a", "a"], ["a"]),
        (2, ["crashed", "crashed"], ["ab", "a", "a", "b"], []),
        (1, ["memory limit"], ["a"], ["a"]),
        (1, ["deadline"], ["a"], ["a"]),
        (3, ["crashed"], ["abc", "a", "b", "c"], []),
        (3, ["deadline", "", "crashed"], ["abc", "a", "b", "b", "c"], []),
        (3, ["deadline", "", "crashed", "crashed"], ["abc", "a", "b", "b", "c"], ["b"]),
    ],
)
def test_a_document_is_blamed_for_what_it_does_alone_and_for_a_second_crash(
    documents: int, kinds: Sequence[str], asked: Sequence[str], blamed: Sequence[str]
) -> None:
    model, ending = resolve_model(DEFAULT_MODEL), Ending(*kinds)
    children = _Children(cast(Pool, ending), model, space_of(model, Settings()), 1.0)
    outcomes = children(DOCUMENTS[:documents], embed=True)
    assert ending.asked == asked
    assert [
        one.document_id
        for one, outcome in zip(DOCUMENTS[:documents], outcomes, strict=True)
        if isinstance(outcome, Failure)
    ] == blamed
