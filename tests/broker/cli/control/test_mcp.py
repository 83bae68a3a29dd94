"""`barnabas mcp`: its tools, asked by the SDK's own client, in this process and over stdin and stdout."""

import json
import sys
from collections.abc import Iterator

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from barnabas import Barnabas
from barnabas.broker.cli.control.mcp.server import ANSWER_CHARACTERS
from barnabas.broker.cli.control.mcp.tools import TOOLS
from barnabas.client.client import Client as KafkaClient
from barnabas.client.produce.producer import Producer
from tests.support.processes.served import Served
from tests.support.source_tree import ROOT

CHANGING = {each.name for each in TOOLS if each.changes}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served("--port", "0", "--ephemeral", "--topic", "orders:2", "--control", "--http", "127.0.0.1:0") as served:
        with KafkaClient(f"127.0.0.1:{served.port}") as client, Producer(client) as producer:
            for number in range(60):
                producer.send("orders", b"order %d" % number, key=b"%d" % number, partition=0)
        yield served


def parameters(served: Served, *more: str) -> StdioServerParameters:
    where = ("--bootstrap-server", f"127.0.0.1:{served.port}")
    return StdioServerParameters(command=sys.executable, args=["-m", "barnabas", "mcp", *where, *more], cwd=str(ROOT))


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def answer_of(result: CallToolResult) -> tuple[list[object], str]:
    """The JSON documents of an answer, one to a line or one in all, and the command below them."""
    assert not result.is_error, text_of(result)
    printed, _, typed = text_of(result).rpartition("\n\n")
    try:
        return [json.loads(printed)], typed
    except ValueError:
        return [json.loads(line) for line in printed.splitlines()], typed


async def test_an_agent_reads_and_sees_what_a_person_would_type(served: Served) -> None:
    async with Client(parameters(served)) as agent:
        tools = {each.name: each for each in (await agent.list_tools()).tools}
        assert set(tools) == {each.name for each in TOOLS} - CHANGING
        assert all(each.description and each.annotations and each.annotations.read_only_hint for each in tools.values())
        (topics,), typed = answer_of(await agent.call_tool("list_topics", {}))
        assert json.dumps(topics).count('"orders"') == 1
        assert typed == f"$ barnabas topics list --json --bootstrap-server=127.0.0.1:{served.port}"
        records, typed = answer_of(await agent.call_tool("read_records", {"topic": "orders", "limit": 3}))
        assert len(records) == 3
        assert "--isolation read_committed --from-beginning --bootstrap-server=" in typed
        hanging, _ = answer_of(await agent.call_tool("why_hanging", {}))
        assert hanging == [{}]
        (clock,), _ = answer_of(await agent.call_tool("show_clock", {}))
        assert isinstance(clock, dict)


async def test_where_no_record_can_be_read_the_answer_says_where_to_look(served: Served) -> None:
    async with Client(parameters(served)) as agent:
        for isolation, hint in (("read_committed", "list_transactions"), ("read_uncommitted", "describe_topic")):
            arguments = {"topic": "orders", "partition": 1, "offset": 0, "isolation": isolation}
            said, _, typed = text_of(await agent.call_tool("read_records", arguments)).partition("\n\n")
            assert (said.startswith("No records. "), hint in said) == (True, True)
            assert typed.startswith("$ barnabas consume --json")


async def test_a_failure_is_the_sentence_of_the_command(served: Served) -> None:
    async with Client(parameters(served)) as agent:
        failed = await agent.call_tool("describe_topic", {"topic": "ordesr"})
        assert failed.is_error
        assert "UNKNOWN_TOPIC_OR_PARTITION" in text_of(failed)
        assert text_of(failed).endswith(f"--json --bootstrap-server=127.0.0.1:{served.port} -- ordesr")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_records", {"topic": "orders", "limit": 1_000_000}),
        ("read_records", {"topic": "orders", "partition": -1}),
        ("trace", {"limit": 0}),
        ("read_records", {"topic": 5}),
        ("describe_topic", {}),
    ],
)
async def test_what_is_out_of_bounds_is_refused(served: Served, tool: str, arguments: dict[str, object]) -> None:
    async with Client(parameters(served)) as agent:
        assert (await agent.call_tool(tool, arguments)).is_error


async def test_a_name_that_begins_with_a_dash_is_no_option(served: Served) -> None:
    async with Client(parameters(served)) as agent:
        failed = await agent.call_tool("describe_topic", {"topic": "--help"})
        assert failed.is_error
        assert "topic" in text_of(failed)


async def test_changes_need_to_be_allowed(served: Served) -> None:
    async with Client(parameters(served)) as agent:
        assert (await agent.call_tool("create_topic", {"topic": "new"})).is_error
    async with Client(parameters(served, "--allow-changes")) as agent:
        names = {each.name for each in (await agent.list_tools()).tools}
        assert names == {each.name for each in TOOLS}
        for tool, arguments in (
            ("create_topic", {"topic": "new", "partitions": 2, "configs": {"retention.ms": "-1"}}),
            ("produce_record", {"topic": "new", "value": "--value", "key": "a b", "partition": 1}),
            (
                "arm_faults",
                {"plan": {"version": 1, "faults": [{"match": {"api": "EndTxn"}, "do": {"lose_answer": True}}]}},
            ),
            ("disarm_faults", {}),
            ("advance_clock", {"time": "1s"}),
        ):
            assert not (result := await agent.call_tool(tool, arguments)).is_error, text_of(result)
        (record,), _ = answer_of(await agent.call_tool("read_records", {"topic": "new"}))
        assert json.dumps(record).count("--value") == 1
        assert (await agent.call_tool("produce_record", {"topic": "new", "value": "two\nlines"})).is_error
        assert (await agent.call_tool("abort_transaction", {"transactional_id": "none"})).is_error


async def test_a_long_answer_is_cut(served: Served) -> None:
    with KafkaClient(f"127.0.0.1:{served.port}") as client, Producer(client) as producer:
        producer.send("orders", b"x" * 100_000, partition=1)
    async with Client(parameters(served)) as agent:
        read = text_of(await agent.call_tool("read_records", {"topic": "orders", "partition": 1}))
    assert len(read) < ANSWER_CHARACTERS + 300
    assert "more characters: ask for less, or type the command" in read


async def test_tools_without_control_say_what_is_missing() -> None:
    with Barnabas() as broker:
        where = ["-m", "barnabas", "mcp", "--bootstrap-server", broker.bootstrap_servers]
        async with Client(StdioServerParameters(command=sys.executable, args=where, cwd=str(ROOT))) as agent:
            assert not (await agent.call_tool("list_topics", {})).is_error
            failed = await agent.call_tool("why_hanging", {})
    assert failed.is_error
    assert "--http" in text_of(failed)


def test_the_page_names_every_tool() -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    assert {each.name for each in TOOLS if f"`{each.name}`" not in page} == set()
