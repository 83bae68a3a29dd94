"""kafkajs: the oldest request versions that a client in use still sends."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.compat.model import PARTITIONS, Client, Message, Stored, as_stored, by_position
from tests.support.server import Server

PROGRAM = Path(__file__).resolve().parent / "js" / "kafkajs_client.js"


class Kafkajs:
    """The program kafkajs_client.js, in one process for all tests."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ["node", str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def write(
        self, address: str, topic: str, messages: Sequence[Message], compression: str, *, idempotent: bool
    ) -> dict[int, int]:
        """Write the messages in one go; the first offset in each partition."""
        words = {
            "do": "write",
            "address": address,
            "topic": topic,
            "compression": compression,
            "idempotent": idempotent,
        }
        listed = [
            {
                "partition": message.partition,
                "key": _text(message.key),
                "value": _text(message.value),
                "headers": [(name, _text(data)) for name, data in message.headers],
                "timestamp": message.timestamp,
            }
            for message in messages
        ]
        return dict(self._ask(words | {"messages": listed}))

    def read_in_group(self, address: str, topic: str, group: str, count: int) -> list[Stored]:
        answers = self._ask({"do": "read", "address": address, "topic": topic, "group": group, "count": count})
        return [
            Stored(partition, offset, timestamp, _bytes(key), _bytes(value), tuple((k, _bytes(v)) for k, v in headers))
            for partition, offset, timestamp, key, value, headers in answers
        ]

    def close(self) -> None:
        self._process.communicate(timeout=30)

    def _ask(self, command: Mapping[str, object]) -> list[Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answers = []
        for line in self._process.stdout:
            if line == ".\n":
                return answers
            answers.append(json.loads(line))
        raise AssertionError(f"kafkajs ended in the middle of {command['do']}:\n{self._process.stderr.read()}")


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _messages() -> list[Message]:
    values = [bytes(range(256)), b"", None, b"text " * 1000]
    return [
        Message(n % PARTITIONS, b"k%d" % n, values[n % 4], (("n", b"%d" % n), ("b", b"\xff")), 1_700_000_000_000 + n)
        for n in range(60)
    ]


@pytest.fixture(scope="module")
def kafkajs() -> Iterator[Kafkajs]:
    client = Kafkajs()
    yield client
    client.close()


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("idempotent", [False, True])
def test_what_it_writes_it_and_others_read(
    server: Server, clients: dict[str, Client], kafkajs: Kafkajs, compression: str, idempotent: bool
) -> None:
    topic = f"kafkajs-{compression}-{idempotent}"
    messages = _messages()
    assert kafkajs.write(server.address, topic, messages, compression, idempotent=idempotent) == {0: 0, 1: 0, 2: 0}

    expected = as_stored(messages)
    found = kafkajs.read_in_group(server.address, topic, f"{topic}-readers", len(messages))
    assert by_position(found) == expected
    assert by_position(clients["java-4.3.1"].read(server.address, topic)) == expected


def test_it_goes_on_where_another_client_of_its_group_stopped(
    server: Server, clients: dict[str, Client], kafkajs: Kafkajs
) -> None:
    topic, group, messages = "kafkajs-relay", "kafkajs-relay", _messages()
    java = clients["java-4.3.1"]
    java.write(server.address, topic, messages, "gzip")
    assert len(java.read_in_group(server.address, topic, group, len(messages))) == len(messages)

    java.write(server.address, topic, [Message(1, b"k", b"for kafkajs")], "none")
    found = kafkajs.read_in_group(server.address, topic, group, 1)
    assert [(record.partition, record.offset, record.value) for record in found] == [(1, 20, b"for kafkajs")]

    java.write(server.address, topic, [Message(2, b"k", b"for java")], "none")
    found = java.read_in_group(server.address, topic, group, 1)
    assert [(record.partition, record.offset, record.value) for record in found] == [(2, 20, b"for java")]
