"""Kafka's own console tools: lines are written with every compression, with keys and headers, and read back."""

import re

import pytest

from tests.compat.model import COMPRESSIONS
from tests.compat.tools import CONSUMER, PRODUCER, Tools
from tests.support.processes.server import Server


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_lines_are_written_and_read_back(server: Server, tools: Tools, compression: str) -> None:
    topic = f"lines-{compression}"
    lines = [f"{number}: a line of text, \u00e4\u20ac" for number in range(200)]
    arguments = ["--topic", topic, "--compression-codec", compression]
    tools.ask(server, PRODUCER, *arguments, stdin="".join(f"{line}\n" for line in lines))
    until_done = ["--from-beginning", "--max-messages", str(len(lines)), "--timeout-ms", "30000"]
    assert sorted(tools.ask(server, CONSUMER, "--topic", topic, *until_done).splitlines()) == sorted(lines)


def test_keys_and_headers_are_written_and_a_group_reads_them(server: Server, tools: Tools) -> None:
    parse = ["--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"]
    tools.ask(server, PRODUCER, "--topic", "keyed", *parse, stdin="h1:v1,h2:v2\tkey\tvalue\n")
    show = [f"print.{part}=true" for part in ("key", "headers", "partition", "offset")]
    arguments = [word for each in show for word in ("--formatter-property", each)]
    arguments += ["--group", "console", "--from-beginning", "--max-messages", "1", "--timeout-ms", "30000"]
    line = tools.ask(server, CONSUMER, "--topic", "keyed", *arguments)
    assert re.fullmatch(r"Partition:\d\tOffset:0\th1:v1,h2:v2\tkey\tvalue\n", line)
