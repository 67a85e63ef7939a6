"""A relay in front of a real server, that can be cut off and come back: `python -m tests.doubles.relay PORT TO`.

Killed, it takes its connections along, as the server itself would; another on the same port is the server back again.
"""

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _relay(port: int, to: int) -> None:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, onward = await asyncio.open_connection("127.0.0.1", to)
        await asyncio.gather(_pump(reader, onward), _pump(upstream, writer))

    server = await asyncio.start_server(connect, "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


def relaying(to: int, port: int = 0) -> tuple["subprocess.Popen[str]", int]:
    """A relay in a process of its own, and its port; 0 is any free one."""
    command = [sys.executable, "-m", "tests.doubles.relay", str(port), str(to)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as said:
        return process, int(said.readline())


if __name__ == "__main__":
    asyncio.run(_relay(int(sys.argv[1]), int(sys.argv[2])))
