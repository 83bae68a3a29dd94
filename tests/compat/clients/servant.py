"""A client in a process of its own, which serves all tests: lines of tab-separated words go to and fro.

The language is described in java/StockClient.java; go/main.go speaks it too.
"""

import base64
import subprocess
from collections.abc import Callable, Iterator, Sequence

from tests.compat.model import WINDOW, Headers, Message, Stored


class Servant:
    """name: the client's. command: gives what starts the process; that happens when it is first needed."""

    writes_bytes = True
    writes_null_headers = True

    def __init__(self, name: str, command: Callable[[], list[str]]) -> None:
        self.name = name
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def write(self, address: str, topic: str, messages: Sequence[Message], compression: str) -> list[int]:
        lines = [
            f"{it.partition}\t{'-' if it.timestamp is None else it.timestamp}\t{_word(it.key)}\t{_word(it.value)}"
            f"\t{','.join(f'{key}={_word(value)}' for key, value in it.headers) or '-'}"
            for it in messages
        ]
        return [int(line) for line in self._ask("write", address, topic, compression, len(messages), *lines)]

    def read(self, address: str, topic: str) -> list[Stored]:
        return [_stored(line) for line in self._ask("read", address, topic)]

    def read_in_group(self, address: str, topic: str, group: str, count: int) -> list[Stored]:
        return [_stored(line) for line in self._ask("group", address, topic, group, count)]

    def stream(self, address: str, topic: str, count: int, on_ack: Callable[[int, int], None]) -> None:
        for line in self._ask("stream", address, topic, count, WINDOW):
            number, offset = line.split("\t")
            on_ack(int(number), int(offset))

    def close(self) -> None:
        """End the process, if one was started."""
        if self._process is not None:
            self._process.communicate(timeout=30)
            self._process = None

    def _ask(self, command: str, *words: object) -> Iterator[str]:
        """Send a command; the words of `write` after its fourth are lines of their own. Yields the answer's lines."""
        if self._process is None:
            self._process = subprocess.Popen(self._command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = "\t".join(map(str, (command, *words[:4])))
        self._process.stdin.write("\n".join([line, *map(str, words[4:])]) + "\n")
        self._process.stdin.flush()
        for answer in self._process.stdout:
            if answer == ".\n":
                return
            yield answer.rstrip("\n")
        status = self._process.wait(timeout=30)
        self._process = None  # what comes next starts anew
        raise AssertionError(f"{self.name} ended with status {status} in the middle of {line}")


def _word(data: bytes | None) -> str:
    return "-" if data is None else base64.b64encode(data).decode() or "="


def _data(word: str) -> bytes | None:
    return None if word == "-" else b"" if word == "=" else base64.b64decode(word)


def _stored(line: str) -> Stored:
    partition, offset, timestamp, key, value, headers = line.split("\t")
    return Stored(int(partition), int(offset), int(timestamp), _data(key), _data(value), _parse_headers(headers))


def _parse_headers(word: str) -> Headers:
    pairs = [] if word == "-" else [pair.partition("=") for pair in word.split(",")]
    return tuple((key, _data(value)) for key, _, value in pairs)
