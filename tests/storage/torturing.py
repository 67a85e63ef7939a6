"""The processes of the torture test. `python -m tests.storage.torturing INDEX SOURCE` has everything imported and
forks a child for each line of its input: the name of a job and a seed.

The children work on INDEX and SOURCE until they are killed. A child that ends by itself leaves its traceback in
INDEX/../faults. INDEX/../history has every text that was ever written, by its sha256, INDEX/../gone the sha256 of
what was forgotten to the end.
"""

import faulthandler
import hashlib
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from pincite.encoders.models import resolve_model
from pincite.encoders.terms import TOKENIZER
from pincite.schemas.errors import IndexBusy, NotFound
from pincite.schemas.records import Space
from pincite.storage.erasure.forget import forget
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.run_lock import patient
from pincite.storage.maintenance.whole_index import compact_index, vacuum_index
from pincite.storage.migration.state import abort, newest_migration, remove_old
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import spaces_of
from pincite.storage.tombstones import allow_again, find, name_hash
from tests.storage import torture_readers
from tests.storage.building import PERMANENT
from tests.storage.migrating import HALVES, begun, builder_of, move, nightly

DOCUMENTS = 12
OPEN_TO_FORGETTING = ("ledger", "the ledger's log", "cache/")
"""Where a forgetting may find traces that are not its own: what readers hold open or are writing."""


def spaces(models: Path) -> list[tuple[Space, str]]:
    """The spaces between which the index moves, with the settings that name their models."""
    made = []
    for name, dimension in (("first", 8), ("twin", 8), ("wide", 12)):
        model = resolve_model(str(_model_folder(models / f"{name}-model", dimension)))
        space = Space(model.name, model.fingerprint, dimension, model.window, "1", "structural", TOKENIZER)
        made.append((space, str(model.folder)))
    first, setting = made[0]
    other_words = replace(first, tokenizer="words-2")
    return [*made, (replace(first, chunker=HALVES.chunker), setting), (other_words, setting)]


def _model_folder(folder: Path, dimension: int) -> Path:
    """What names a model and says its dimension; its weights are never loaded."""
    if not folder.exists():
        folder.mkdir(parents=True)
        facts = {"hidden_size": dimension, "max_position_embeddings": 256}
        (folder / "config.json").write_text(json.dumps(facts))
        (folder / "tokenizer.json").write_text("{}")
        (folder / "tokenizer_config.json").write_text('{"model_max_length": 256}')
        (folder / "model.safetensors").write_text(folder.name)
    return folder


def text_of(seed: int, turn: int, number: int) -> str:
    words = f"seed{seed} turn{turn} document{number}"
    return "# " + words + "".join(f"\n\n{words} part{part}" for part in range(number + 1))


def write(index: Path, source: Path, seed: int) -> None:
    """Changes the folder and does what a writer does, in any order; at times it leaves out the other spaces."""
    draw = random.Random(seed)
    for turn in range(10**6):
        for number in draw.sample(range(DOCUMENTS), 3):
            change(source, draw, text_of(seed, turn, number), number)
        jobs: list[Callable[[Index, Path, random.Random], None]] = [
            reindex_it,
            compact_it,
            vacuum_it,
            forget_it,
        ]
        for job in draw.sample(jobs, len(jobs)):
            with (
                suppress(IndexBusy),
                Index.open(index) as opened,
            ):  # a killed one's lock is still being dropped
                job(opened, source, draw)


def reindex_it(opened: Index, source: Path, draw: random.Random) -> None:
    nightly(opened.path, source, dual=draw.random() < 0.7)


def compact_it(opened: Index, _source: Path, _draw: random.Random) -> None:
    compact_index(opened)  # and brings the cache up to date


def vacuum_it(opened: Index, _source: Path, _draw: random.Random) -> None:
    vacuum_index(opened, grace_s=0.0)


def forget_it(opened: Index, source: Path, draw: random.Random) -> None:
    """Forgets a document at times, deletes its file, and at times lets its name be used again."""
    number = draw.randrange(DOCUMENTS)
    name = f"{number + draw.choice([0, 100])}.txt"
    if draw.random() < 0.4:
        with suppress(NotFound):
            done = forget(opened, find(opened, name))
            left = [one for one in done.proof.found if not one.startswith(OPEN_TO_FORGETTING)]
            assert not left, left
    for path in forgotten_files(opened, source):
        path.unlink()
    if draw.random() < 0.5:
        with suppress(NotFound):
            remember_gone(opened, name, source)
            allow_again(opened, name)


def remember_gone(opened: Index, name: str, source: Path) -> None:
    """Before its row goes: the bytes that no version may have any more."""
    named = name_hash(str(source), name)
    with transactions.reading(opened.engine) as connection:
        for row in connection.execute(sa.select(schema.forgotten)):
            for digest in row.contents if named in row.names and row.done_at is not None else ():
                (opened.path.parent / "gone" / digest).touch()


def forgotten_files(opened: Index, source: Path) -> list[Path]:
    """The files that are not indexed, since a document that had their name or bytes was forgotten."""
    documents = schema.documents
    with transactions.reading(opened.engine) as connection:
        rows = connection.execute(sa.select(schema.forgotten)).all()
        lives = sa.and_(
            documents.c.state != "deleted",
            documents.c.document_id.not_in([row.document_id for row in rows]),  # asked, and not yet done
        )
        known = set(connection.scalars(sa.select(documents.c.path).where(lives)))
    names = {name for row in rows for name in row.names}
    contents = {digest for row in rows for digest in row.contents}
    return [
        path
        for path in sorted(source.glob("*.txt"))
        if path.name not in known
        and (name_hash(str(source), path.name) in names or _sha256(path) in contents)
    ]


def _sha256(path: Path) -> str:
    return hashlib.sha256(read(path).encode()).hexdigest()


def read(path: Path) -> str:
    """The text of a file; "" of one that its writer takes away meanwhile."""
    with suppress(FileNotFoundError):
        return path.read_text()
    return ""


def change(source: Path, draw: random.Random, text: str, number: int) -> None:
    path = source / f"{number}.txt"
    chance = draw.random()
    if chance < 0.15:
        path.unlink(missing_ok=True)
    elif chance < 0.3 and path.exists():
        path.rename(source / f"{number + 100}.txt")
    elif chance < 0.37:
        put(source, path, f"{PERMANENT} {text}")  # what was there before stays to be found
    else:
        put(source, path, text)


def put(source: Path, path: Path, text: str) -> None:
    kept = source.parent / "history" / hashlib.sha256(text.encode()).hexdigest()
    kept.write_text(text)
    new = source / ".new"  # a kill must not leave half a text: it would be a document of its own
    new.write_text(text)
    new.rename(path)


def migrate(index: Path, _source: Path, seed: int) -> None:
    """Migrations, back and forth, some given up half way, and the removal of old spaces."""
    draw = random.Random(seed)
    targets = spaces(index.parent / "models")
    while True:
        with Index.open(index) as opened:
            last = newest_migration(opened)
            live, *others = spaces_of(opened)
            building = last is not None and last.state == "building"
            chance = draw.random()
            if last is not None and building and chance < 0.15:
                with patient(index):
                    abort(opened)
            elif last is not None and last.state == "switched" and others and chance < 0.35:
                if last.source in others:
                    move(opened, last, last.source)
            elif last is not None and last.state == "switched" and others and chance < 0.5:
                with patient(index):
                    remove_old(opened)
            else:
                space, setting = (
                    (last.target.space, last.target.setting) if last and building else draw.choice(targets)
                )
                if space != live.space:
                    migrate_to(opened, space, setting)


def migrate_to(opened: Index, space: Space, setting: str) -> None:
    migration = begun(opened, space, setting)
    builder = builder_of(opened, migration, migration.target)
    builder._most = 8  # many small batches
    builder.catch_up()
    assert move(opened, migration, migration.target)


def write_without_pause(index: Path, source: Path, _seed: int) -> None:
    for turn in range(10**6):
        for number in range(3):
            (source / f"{number}.txt").write_text(f"# T{number}\n\ndocument{number} turn{turn}")
        nightly(index, source, dual=False)


JOBS: dict[str, Callable[[Path, Path, int], None]] = {
    "write": write,
    "write without pause": write_without_pause,
    "migrate": migrate,
    "newest": torture_readers.read_newest,
    "held": torture_readers.read_held,
    "search": torture_readers.search,
    "export": torture_readers.export,
}


def main() -> None:
    index, source = Path(sys.argv[1]), Path(sys.argv[2])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for number, line in enumerate(sys.stdin):
        job, _, seed = line.rpartition(" ")
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is said there is for the test
            faulthandler.register(signal.SIGUSR1)
            try:
                JOBS[job](index, source, int(seed))
            except BaseException:  # noqa: BLE001  it must reach the test, whatever it is
                said = f"{time.time()} {job}\n{traceback.format_exc()}"
                (index.parent / "faults" / f"{number}-{job}").write_text(said)
                os._exit(1)
        print(child, flush=True)


if __name__ == "__main__":
    main()
