"""Notify: failures of a run told to a webhook. What goes wrong with that is a warning and ends no run."""

import http.client
import json
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pincite.schemas.addresses import is_loopback
from pincite.schemas.counting import counted
from pincite.schemas.errors import IndexBusy, PinciteError
from pincite.schemas.records import CollectionOutcome
from pincite.schemas.settings import Notify
from pincite.storage.queries.index_report import failures_since
from pincite.storage.snapshots.index import Index

MOST_DOCUMENTS = 100


@dataclass
class RunNotice:
    """What is to be told of runs, filled while they go on."""

    outcomes: list[CollectionOutcome] = field(default_factory=list)
    error: str = ""  # what went wrong with all of them


@contextmanager
def telling(index: Index, notify: Notify, warn: Callable[[str], object]) -> Iterator[RunNotice]:
    """Tells what failed in the runs of the block when it ends, by itself or by an error of theirs.

    `warn` hears when it could not be told. Of an index that another run has, what came before is told.
    """
    told, since = RunNotice(), time.time()
    try:
        yield told
    except PinciteError as error:
        if not isinstance(error, IndexBusy):
            told.error = str(error)
        if told.error or told.outcomes:
            _tell(index, notify, told, since, warn)
        raise
    _tell(index, notify, told, since, warn)


def _tell(index: Index, notify: Notify, told: RunNotice, since: float, warn: Callable[[str], object]) -> None:
    report = failure_report(index, told.outcomes, since, told.error)
    if report and (warning := tell(notify, report)):
        warn(warning)


def failure_report(
    index: Index, outcomes: Sequence[CollectionOutcome], since: float, error: str = ""
) -> Mapping[str, object] | None:
    """What is told of runs that began at `since` (seconds since the epoch); None when nothing failed in them.

    A document that failed in an earlier run and was not tried again is not told again. `error` is why a run broke.
    """
    failures = failures_since(index, since)
    broken = [{"collection": one.collection.name, "error": one.error} for one in outcomes if one.error]
    if error:
        broken.append({"collection": "", "error": error})
    if not failures and not broken:
        return None
    lines = [str(one["error"]) for one in broken]
    if failures:
        lines.append(
            f"{counted(len(failures), 'document')} failed: {failures[0]['document']}: {failures[0]['reason']}"
        )
    return {
        "text": f"Pincite, {index.path} on {socket.gethostname()}: " + "; ".join(lines),  # what Slack shows
        "index": str(index.path),
        "broken": broken,
        "failed": len(failures),
        "documents": list(failures[:MOST_DOCUMENTS]),
    }


def tell(notify: Notify, report: Mapping[str, object]) -> str:
    """Posts the report as JSON, and returns a warning when that failed, else "". Takes `timeout_s` at most."""
    if not notify.url:
        return ""
    problems: list[str] = ["no answer in time"]
    # A thread, since a server that sends a byte a minute would hold up a socket's own time limit for ever.
    sender = threading.Thread(target=_post, args=(notify, report, problems), daemon=True)
    sender.start()
    sender.join(notify.timeout_s)
    return f"failures could not be told to {_shown(notify.url)}: {problems[0]}" if problems else ""


def _post(notify: Notify, report: Mapping[str, object], problems: list[str]) -> None:
    body = json.dumps(report).encode()
    try:
        request = urllib.request.Request(
            notify.url, body, {"Content-Type": "application/json", "User-Agent": "pincite"}, method="POST"
        )
        with _opener(notify.url).open(request, timeout=notify.timeout_s):
            problems.clear()
    except (OSError, ValueError) as error:  # URLError and HTTPError are OSErrors
        problems[0] = str(error)
    except http.client.HTTPException as error:  # what is no answer of HTTP; its words may hold the address
        problems[0] = f"no answer of a web server ({type(error).__name__})"


def _opener(url: str) -> urllib.request.OpenerDirector:
    """With the proxies of the environment, unless the address is of this machine."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({} if is_loopback(url) else None))


def _shown(url: str) -> str:
    """The URL without its path and its user, which are the secrets of webhooks."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.split('/')[0].rpartition('@')[2]}"
