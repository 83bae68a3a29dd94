"""kcat: librdkafka on the command line. It writes lines of text, with the headers of a run and the time of its own."""

import itertools
import re
import subprocess
from collections.abc import Sequence

from tests.compat.model import Headers, Message, Stored
from tests.support.waiting import PATIENCE_S

# Lengths come first, so that any bytes can be read back.
_FORMAT = r"%p %o %T %K %S\n%k%s\n%h\n"
_LENGTHS = re.compile(rb"(\d+) (\d+) (-?\d+) (-?\d+) (-?\d+)\n")


class Kcat:
    name = "kcat"
    writes_bytes = False
    writes_null_headers = False

    def write(self, address: str, topic: str, messages: Sequence[Message], compression: str) -> None:
        ordered = sorted(messages, key=lambda message: message.partition)  # kcat writes to one partition a run
        for (partition, headers), run in itertools.groupby(ordered, lambda it: (it.partition, it.headers)):
            flags = ["-P", "-t", topic, "-p", str(partition), "-z", compression, "-K", "|"]
            for key, value in headers:
                flags += ["-H", f"{key}={(value or b'').decode()}"]
            lines = [(message.key or b"") + b"|" + (message.value or b"") for message in run]
            self.run(address, *flags, stdin=b"\n".join(lines))

    def read(self, address: str, topic: str) -> list[Stored]:
        return _parse(self.run(address, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", _FORMAT))

    def read_in_group(self, address: str, topic: str, group: str, count: int) -> list[Stored]:
        flags = ["-X", "auto.offset.reset=earliest", "-c", str(count), "-q", "-f", _FORMAT]
        return _parse(self.run(address, *flags, "-G", group, topic))

    def run(self, address: str, *flags: str, stdin: bytes = b"") -> bytes:
        """What kcat prints; it must succeed."""
        done = subprocess.run(
            ["kcat", "-b", address, *flags], input=stdin, capture_output=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, f"kcat {' '.join(flags)}: {done.stderr.decode(errors='replace')}"
        return done.stdout


def _parse(output: bytes) -> list[Stored]:
    found, position = [], 0
    while position < len(output):
        lengths = _LENGTHS.match(output, position)
        assert lengths, f"kcat printed {output[position : position + 80]!r}"
        partition, offset, timestamp, key_size, value_size = map(int, lengths.groups())
        position = lengths.end()
        key = None if key_size < 0 else output[position : position + key_size]
        position += max(key_size, 0)
        value = None if value_size < 0 else output[position : position + value_size]
        position += max(value_size, 0) + 1
        end = output.index(b"\n", position)
        found.append(Stored(partition, offset, timestamp, key, value, _headers(output[position:end])))
        position = end + 1
    return found


def _headers(printed: bytes) -> Headers:
    pairs = [pair.partition(b"=") for pair in printed.split(b",") if pair]
    return tuple((key.decode(), None if value == b"NULL" else value) for key, _, value in pairs)
