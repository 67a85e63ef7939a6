"""What sessions need beyond their cookies: a key that only this index has, and which of them were ended.

Both lie in the folder `sessions` of the index, for its owner alone: a server that was started again knows its
sessions, and one that was signed out stays so in every server of the index. An archive of an index holds neither.
"""

import hashlib
import logging
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from pincite.schemas.counting import counted

FOLDER = "sessions"
_KEY = "key"
_KEY_BYTES = 32
_logger = logging.getLogger(__name__)


class SessionStore:
    """Threads and processes share it. `own` is this host's folder of the index.

    Where it can't be written, sessions end with the server.
    """

    def __init__(self, own: Path) -> None:
        self._folder = own / FOLDER
        self._ended: dict[str, int] = {}  # of this process: when each expires, by its file's name
        self.key = self._stored_key()

    def end(self, nonce: str, expires: int) -> None:
        """From now on the session is none, though its cookie was copied."""
        name = _name(nonce, expires)
        self._ended[name] = expires
        try:
            (self._folder / name).touch(mode=0o600)
        except OSError as error:
            _logger.warning("that a session was ended is known until the server ends: %s", error)
        self._sweep()

    def is_ended(self, nonce: str, expires: int) -> bool:
        name = _name(nonce, expires)
        return name in self._ended or (self._folder / name).exists()

    def _stored_key(self) -> bytes:
        key = secrets.token_bytes(_KEY_BYTES)
        draft = self._folder / f".{secrets.token_hex(8)}.tmp"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            draft.touch(mode=0o600)
            draft.write_bytes(key)
            with suppress(FileExistsError):
                os.link(draft, self._folder / _KEY)  # of two servers that start at once, one writes it
            draft.unlink()
            stored = (self._folder / _KEY).read_bytes()
        except OSError as error:
            _logger.warning("sessions end with this server, since their key can't be kept: %s", error)
            return key
        if len(stored) != _KEY_BYTES:
            _logger.warning(
                "%s is damaged, it holds %s instead of %d: sessions end with this server, and no other server of the "
                "index knows them. Delete the file and start again: another key is made, and everyone signs in anew",
                self._folder / _KEY,
                counted(len(stored), "byte"),
                _KEY_BYTES,
            )
            return key
        return stored

    def _sweep(self) -> None:
        """Forgets what is over by its time."""
        now = time.time()
        for name in [name for name, expires in self._ended.items() if expires < now]:
            del self._ended[name]
        with suppress(OSError):
            for path in self._folder.glob("ended-*"):
                expires = path.name.split("-")[1]
                if expires.isdecimal() and int(expires) < now:
                    path.unlink(missing_ok=True)


def _name(nonce: str, expires: int) -> str:
    return f"ended-{expires}-{hashlib.sha256(nonce.encode()).hexdigest()[:32]}"
