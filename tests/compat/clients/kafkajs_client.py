"""kafkajs: a client written in JavaScript, in one Node.js process that serves all tests (js/client.mjs).

It still sends the oldest versions of the requests that a client in use sends.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.compat.model import Message, Stored

PROGRAM = Path(__file__).resolve().parents[1] / "js" / "client.mjs"


class KafkaJs:
    name = "kafkajs"
    writes_bytes = True
    writes_null_headers = False

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def write(
        self, address: str, topic: str, messages: Sequence[Message], compression: str, *, idempotent: bool = False
    ) -> list[int]:
        wanted = [
            {
                "partition": message.partition,
                "key": _text(message.key),
                "value": _text(message.value),
                "headers": [[name, _text(value)] for name, value in message.headers],
                "timestamp": message.timestamp,
            }
            for message in messages
        ]
        offsets: list[int] = self._ask(
            "write", address, topic, messages=wanted, compression=compression, idempotent=idempotent
        )
        return offsets

    def read(self, address: str, topic: str) -> list[Stored]:
        return [_stored(*fields) for fields in self._ask("read", address, topic)]

    def read_in_group(self, address: str, topic: str, group: str, count: int) -> list[Stored]:
        return [_stored(*fields) for fields in self._ask("readInGroup", address, topic, group=group, count=count)]

    def close(self) -> None:
        """End the process, if one was started."""
        if self._process is not None:
            self._process.communicate(timeout=30)

    def _ask(self, command: str, address: str, topic: str, **more: object) -> Any:
        if self._process is None:
            self._process = subprocess.Popen(
                ["node", str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"command": command, "address": address, "topic": topic, **more}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, (
            f"kafkajs ended in the middle of {command}; are its packages installed (npm ci in {PROGRAM.parent})?"
        )
        reply = json.loads(line)
        assert "error" not in reply, f"kafkajs, at {command}: {reply['error']}"
        return reply["answer"]


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _data(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _stored(
    partition: int,
    offset: int,
    timestamp: int,
    key: str | None,
    value: str | None,
    headers: list[tuple[str, str | None]],
) -> Stored:
    pairs = tuple((name, _data(text)) for name, text in headers)
    return Stored(partition, offset, timestamp, _data(key), _data(value), pairs)
