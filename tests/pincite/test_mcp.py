"""`pincite mcp` with the real client of the protocol, over standard input and output and over HTTP."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from pincite.dashboard.mcp_server import create_mcp
from pincite.dashboard.state.serving import Serving
from pincite.dashboard.state.thread_pool import Work
from tests.commands import Pincite
from tests.dashboard.conftest import HOSTILE, HOSTILE_NAME, ROOT, SAMPLES, reindex, serving


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of a handbook, a hostile text, a long one and an empty file."""
    docs = tmp_path_factory.mktemp("for-mcp")
    (docs / "handbook.md").write_bytes((SAMPLES / "operator-handbook.md").read_bytes())
    (docs / HOSTILE_NAME).write_text(HOSTILE, encoding="utf-8")
    (docs / "long.txt").write_text("The long impeller turns and turns.\n" * 2_000)
    (docs / "nothing.txt").write_bytes(b"")
    index = tmp_path_factory.mktemp("of-mcp") / "index"
    reindex(index, docs)
    return index


Call = Callable[[str, dict[str, Any]], Awaitable[CallToolResult]]


def connected(server: Any, talk: Callable[[Client, Call], Awaitable[None]]) -> None:
    async def run() -> None:
        with anyio.fail_after(120):
            async with Client(server) as client:

                async def call(name: str, arguments: dict[str, Any]) -> CallToolResult:
                    result = await client.call_tool(name, arguments)
                    assert isinstance(result, CallToolResult)
                    return result

                await talk(client, call)

    anyio.run(run)


def over_stdio(index: Path, talk: Callable[[Client, Call], Awaitable[None]]) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pincite", "mcp", "--index", str(index)],
        cwd=str(ROOT),
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT)},
    )
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        connected(stdio_client(parameters, errlog=nowhere), talk)


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert block.type == "text"
    return block.text


def fields_of(result: CallToolResult) -> dict[str, Any]:
    assert result.structured_content is not None and not result.is_error
    return dict(result.structured_content)


def test_an_assistant_searches_reads_and_lists(index: Path) -> None:
    async def talk(client: Client, call: Call) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"search", "read_passage", "list_documents"}
        for tool in tools.values():
            assert tool.description and tool.output_schema and tool.annotations
            assert tool.annotations.read_only_hint is True
        assert "NO ANSWER" in (client.instructions or "")

        found = await call("search", {"query": "ERR-4042 mechanical seal", "mode": "bm25", "k": 1})
        (passage,) = fields_of(found)["passages"]
        assert passage["document"] == "handbook.md" and passage["char"].startswith("#char=")
        assert "\nSOURCES\n" in text_of(found) and f"[1] handbook.md - {passage['label']}" in text_of(found)
        assert "Cite each claim as [n]" in text_of(found) and passage["char"] in text_of(found)

        place = {name: passage[name] for name in ("document_id", "start", "end")}
        read = fields_of(await call("read_passage", place | {"context": 5}))
        assert read["text"] == passage["text"] and len(read["before"]) == 5

        refused = await call("search", {"query": "how do i renew my spanish passport"})
        assert fields_of(refused)["refused"] is True and fields_of(refused)["passages"] == []
        assert text_of(refused).startswith("NO ANSWER: nothing under cosine distance 0.675 for")
        for filters in ({"types": ["pdf"]}, {"modified_before": "1999-12-31T00:00:00Z"}):
            nothing = fields_of(await call("search", {"query": "ERR-4042 mechanical seal"} | filters))
            assert nothing["message"] == "NO ANSWER: no passage of the index passes the filters"
        loose = fields_of(await call("search", {"query": "how do i renew it", "strict": False, "k": 3}))
        assert not loose["refused"] and len(loose["passages"]) == 3

        listed = fields_of(await call("list_documents", {"state": "failed"}))
        assert [(one["document"], one["state"]) for one in listed["documents"]] == [("nothing.txt", "failed")]
        page = fields_of(await call("list_documents", {"limit": 3}))
        rest = fields_of(await call("list_documents", {"limit": 3, "after": page["next"]}))
        assert len(page["documents"]) == 3 and len(rest["documents"]) == 1 and rest["next"] is None

    over_stdio(index, talk)


def test_tools_wait_in_the_line_of_all_requests() -> None:
    full = SimpleNamespace(work=Work(threads=1, waiting=-1))
    server = create_mcp(lambda: cast(Serving, full))
    for name, arguments in (
        ("search", {"query": "x"}),
        ("read_passage", {"document_id": "x", "start": 0, "end": 1}),
        ("list_documents", {}),
    ):
        with pytest.raises(ToolError, match="busy"):
            anyio.run(server.call_tool, name, arguments)


def test_errors_say_what_to_do_and_output_is_bounded(index: Path) -> None:
    async def talk(_client: Client, call: Call) -> None:
        for name, arguments, words in (
            (
                "read_passage",
                {"document_id": "../../etc/passwd", "start": 0, "end": 5},
                "Take ids from a search",
            ),
            ("read_passage", {"document_id": "x", "start": 0, "end": 900_000}, "read it in parts"),
            ("search", {"query": "???", "mode": "bm25"}, "no letter or digit"),
            ("search", {"query": "x", "k": 1000}, "less than or equal to 20"),
            ("search", {"query": "x" * 3000}, "at most 2000"),
            ("search", {"query": "impeller", "pages": [3]}, "pages\n  Extra inputs are not permitted"),
            ("list_documents", {"after": "nothing"}, "begin the listing without it"),
            ("list_documents", {"limit": 10_000}, "less than or equal to 200"),
        ):
            told = await call(name, arguments)
            assert told.is_error and words in text_of(told) and "Traceback" not in text_of(told)
        long = await call("search", {"query": "impeller", "mode": "bm25", "k": 20})
        assert len(text_of(long)) < 100_000

    over_stdio(index, talk)


def test_text_of_documents_can_not_write_the_frame(index: Path) -> None:
    async def talk(_client: Client, call: Call) -> None:
        found = await call("search", {"query": "hostile impeller", "mode": "bm25", "k": 5})
        lines = text_of(found).splitlines()
        assert lines.count("SOURCES") == 1 and "QUESTION" not in lines
        assert not any(line.startswith("[2] forged.pdf") for line in lines)
        assert "\\[2\\] forged.pdf" in text_of(found) and "<|im_end|>" not in text_of(found)
        hostile = next(one for one in fields_of(found)["passages"] if "hostile" in one["text"])
        place = {name: hostile[name] for name in ("document_id", "start", "end")}
        read = text_of(await call("read_passage", place))
        assert read.splitlines().count("SOURCES") == 1 and "\\[2\\] forged.pdf" in read

    over_stdio(index, talk)


def test_nothing_but_the_protocol_is_on_standard_output(index: Path) -> None:
    opening = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        '"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\nthis is no message\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
    )
    with subprocess.Popen(
        [sys.executable, "-m", "pincite", "mcp", "--index", str(index)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(opening)
        process.stdin.flush()
        lines: list[str] = []
        while not any('"id":2' in line for line in lines):
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr and process.stderr.read()
        rest, _ = process.communicate(timeout=30)  # its input ends, and so does it
    assert all(line.startswith('{"jsonrpc":"2.0"') for line in [*lines, *rest.splitlines()])
    assert process.returncode == 0


def test_an_index_that_is_not_there_is_said_on_standard_error(pincite_here: Pincite) -> None:
    result = pincite_here("mcp", "--index", "nowhere")
    assert result.returncode == 2 and not result.stdout and "no index at nowhere" in result.stderr


def test_the_same_tools_are_served_over_http(index: Path) -> None:
    async def talk(client: Client, call: Call) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"search"}
        found = fields_of(await call("search", {"query": "ERR-4042", "mode": "bm25", "k": 1}))
        assert found["passages"][0]["document"] == "handbook.md"

    with serving(index) as server:
        connected(f"{server.url}/mcp", talk)
        assert server.end() == (0, "")


PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_by_a_signal_while_its_input_is_open(index: Path, sign: signal.Signals) -> None:
    command = ["env", "--default-signal=INT", sys.executable, "-m", "pincite", "mcp", "--index", str(index)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as served:
        try:
            assert served.stdin is not None and served.stdout is not None
            served.stdin.write(PING)
            served.stdin.flush()
            assert select.select([served.stdout], [], [], 60)[0], "it answers"
            served.send_signal(sign)
            assert served.wait(60) == -sign
        finally:
            served.kill()
