"""A real S3 server (moto) in a process of its own on a free port of the loopback."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def s3_server() -> Iterator[str]:
    """The URL of the server. The environment names it, with credentials, as S3's own tools read them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(server, port)
        with pytest.MonkeyPatch.context() as environment:
            for name in [name for name in os.environ if name.startswith("AWS_")]:
                environment.delenv(name)
            environment.setenv("AWS_ENDPOINT_URL", url)
            environment.setenv("AWS_ACCESS_KEY_ID", "of-tests")
            environment.setenv("AWS_SECRET_ACCESS_KEY", "of-tests")
            environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
            yield url
    finally:
        server.kill()
        server.wait()


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + 60
    while True:
        assert server.poll() is None and time.monotonic() < until, "the S3 server did not start"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)


def client() -> Any:
    """fsspec's file system on the server that the environment names."""
    import fsspec

    return fsspec.filesystem("s3", use_listings_cache=False, skip_instance_cache=True)
