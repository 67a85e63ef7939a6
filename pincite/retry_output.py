"""What became of the failed documents that a retry was asked for, by the ledger."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pincite.console import say
from pincite.schemas.counting import counted
from pincite.storage.queries.index_report import DocumentReport, document_reports, tried_since
from pincite.storage.snapshots.index import Index

_INDEXED, _AGAIN, _WAITING = "indexed", "failed again", "still waiting"
_TRIED = {"indexed": _INDEXED, "failed": _AGAIN}  # by the state after an attempt; of any other it waits
_GONE = "its file is not in the collection any more"
_BACK = "the file is again as it was indexed"
_STOPPED = "the run of its source stopped"
_NOT_GIVEN = "the source does not give the file"
_NOT_REACHED = "the run did not come to it"
_REASONS = (_GONE, _BACK, _STOPPED, _NOT_GIVEN, _NOT_REACHED)


@dataclass(frozen=True, slots=True)
class RequestedDocuments:
    """What a retry was asked for: ids of documents."""

    failed: frozenset[str]  # before it
    chosen: frozenset[str]  # of these
    since: float  # seconds since the epoch

    def retried(self, opened: Index, stopped: Collection[str] = ()) -> "Retried":
        """What became of them. `stopped`: sources whose run came to no end."""
        now = {one.document_id: one for one in document_reports(opened, None)}
        tried = self.failed & tried_since(opened, self.since)
        fates = {one: _fate(now.get(one), one in tried, stopped) for one in sorted(self.failed)}
        still = {
            one for one in self.failed - tried - self.chosen if one in now and now[one].state == "failed"
        }
        return Retried(
            chosen=Counter(fates[one] for one in self.chosen),
            besides=Counter(fates[one] for one in tried - self.chosen),
            tried=len(tried),
            others=frozenset(still),
        )


def _fate(now: DocumentReport | None, tried: bool, stopped: Collection[str]) -> str:
    """One of the words above, of a document that was failed before."""
    if now is None:
        return _GONE
    if tried:
        return _TRIED.get(now.state, _WAITING)
    if now.state == "indexed":
        return _BACK
    if now.source in stopped:
        return _STOPPED
    if now.state != "failed":
        return _WAITING
    return _NOT_GIVEN if now.stage == "discover" else _NOT_REACHED


@dataclass(frozen=True, slots=True)
class Retried:
    """Documents that were failed before a retry, by what became of them. Each is counted once."""

    chosen: Mapping[str, int]  # all that were chosen, by their fate
    besides: Mapping[str, int]  # not chosen, and tried since their file or the settings are others
    tried: int  # of both
    others: frozenset[str]  # ids: failed still, not chosen and not tried

    def say(self) -> None:
        say(_sentence(self.chosen, "failed document was tried again", "failed documents were tried again"))
        if self.besides.get(_INDEXED) or self.besides.get(_AGAIN):
            say(_sentence(self.besides, "other one was tried too", "others were tried too"))
        if waiting := self.chosen.get(_WAITING, 0):
            said = counted(waiting, "chosen document still waits", "chosen documents still wait")
            say(f"{said} for the next run")
        for reason in _REASONS:
            if count := self.chosen.get(reason, 0):
                said = counted(count, "chosen document was", "chosen documents were")
                say(f"{said} not tried: {reason}")
        if self.others:
            said = counted(len(self.others), "failed document was", "failed documents were")
            say(f"{said} not tried, being not of this choice: `pincite documents --state failed`")

    def as_json(self) -> dict[str, object]:
        not_tried = {reason: count for reason in _REASONS if (count := self.chosen.get(reason, 0))}
        return {
            "retried": self.tried,
            "not_retried": sum(not_tried.values()) + len(self.others),
            "chosen": {
                "indexed": self.chosen.get(_INDEXED, 0),
                "failed": self.chosen.get(_AGAIN, 0),
                "waiting": self.chosen.get(_WAITING, 0),
                "not_tried": not_tried,
            },
        }


def _sentence(fates: Mapping[str, int], one: str, many: str) -> str:
    well, again = fates.get(_INDEXED, 0), fates.get(_AGAIN, 0)
    return f"{counted(well + again, one, many)}: {well} indexed, {again} failed again"
