"""Pipe: the run's end of the connection to a child. Nothing here ever waits longer than it is told to."""

import select
import socket

from pincite.tasks.sandbox.messages import Answer, Frames, answer_in

_AT_ONCE_BYTES = 1 << 20


class Pipe:
    """Sends calls and takes answers as far as the child lets it."""

    def __init__(self) -> None:
        """`theirs` is the child's end, which the caller closes."""
        self._ours, self.theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._frames = Frames()
        self._unsent = memoryview(b"")
        self._number = 0

    def close(self) -> None:
        self._ours.close()
        self.theirs.close()

    def quiet(self) -> bool:
        """Whether nothing is there that answers no call: a child that talks unasked is not to be trusted."""
        return not self._frames.begun and not self._unsent and not self._events(0)

    def send(self, data: bytes, number: int) -> None:
        """Begins to send a call; `answers` goes on with it."""
        self._unsent = memoryview(data)
        self._number = number

    def answers(self, timeout_s: float) -> list[Answer]:
        """What has arrived after at most so long. Raises `EOFError` when the child hung up, `Garbled`."""
        events = self._events(timeout_s)
        try:
            if self._unsent and events & select.POLLOUT:
                self._unsent = self._unsent[self._ours.send(self._unsent[:_AT_ONCE_BYTES]) :]
            if not events & (select.POLLIN | select.POLLHUP | select.POLLERR):
                return []
            data = self._ours.recv(_AT_ONCE_BYTES)
        except BlockingIOError:
            return []
        except ConnectionError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        return [answer_in(body, self._number) for body in self._frames.feed(data)]

    def _events(self, timeout_s: float) -> int:
        poll = select.poll()  # select would fail from the thousandth open file on
        poll.register(self._ours, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        return next((event for _, event in poll.poll(timeout_s * 1000)), 0)
