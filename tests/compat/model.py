"""What a client writes and what it reads back, the same for all clients, and the messages that every client writes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 3
Headers = tuple[tuple[str, bytes | None], ...]
Settings = dict[str, object]


class Message(NamedTuple):
    """What is written. timestamp: milliseconds; None leaves it to the client."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int | None = None


class Stored(NamedTuple):
    """What is read."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def stored_of(polled: Mapping[Any, Iterable[Any]]) -> list[Stored]:
    """What a client written in Python was given by one poll."""
    return [
        Stored(record.partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
        for records in polled.values()
        for record in records
    ]


class Client(Protocol):
    """A stock client. Everything is as its defaults have it, but for what the arguments say."""

    name: str
    writes_bytes: bool  # else only text without line ends, and the time is its own
    writes_null_headers: bool

    def write(self, address: str, topic: str, messages: Sequence[Message], compression: str) -> list[int] | None:
        """Write `messages` and wait for all acknowledgements; their offsets, where the client tells them."""

    def read(self, address: str, topic: str) -> list[Stored]:
        """Everything in the topic, by assigning its partitions, from their beginnings to their ends of now."""

    def read_in_group(self, address: str, topic: str, group: str, count: int) -> list[Stored]:
        """Join `group`, read on until `count` messages came, commit and leave."""


class StreamingClient(Client, Protocol):
    """A client that can be watched while it writes."""

    def stream(self, address: str, topic: str, count: int, on_ack: Callable[[int, int], None]) -> None:
        """Write the messages b"0", b"1", … idempotently, `WINDOW` in flight, until all `count` are acknowledged.

        on_ack(number, offset) is called at each acknowledgement, from any thread.
        """


READS_NULL_AS_EMPTY = frozenset({"kafka-go"})  # clients that do not tell the one from the other in what they read
HEARTBEAT_INTERVAL_MS = 200
WINDOW = 300  # messages in flight while streaming: a kill always meets some


def messages_for(client: Client, compression: str, count: int = 60) -> list[Message]:
    """Messages of every shape, over all partitions; for a client that writes text only, of every shape that it can."""
    binary = [bytes(range(256)), b"", None, b"\xff\xfe" * 50, b"a line\nand another\r\n"]
    text = [b"a line", b"with spaces, and commas", b"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x9e"]
    bulk = compression.encode() * 2000  # compressible, and larger than the smallest buffers
    values = [*(binary if client.writes_bytes else text), bulk]
    keys = [b"key-%d" % (n % 7) for n in range(count)]
    headers: list[Headers] = [(), (("trace", b"abc"),), (("same", b"1"), ("same", b"2"), ("nothing", b""))]
    if client.writes_bytes:
        headers.append((("null", None if client.writes_null_headers else b""), ("bytes", b"\xff\xfe")))
        keys[::5] = [b"\x00\xff"] * len(keys[::5])
    return [
        Message(
            partition=n % PARTITIONS,
            key=None if client.writes_bytes and n % 4 == 3 else keys[n],
            value=values[n % len(values)],
            headers=headers[n // 12 % len(headers)],
            timestamp=1_700_000_000_000 + n * 17 if client.writes_bytes else None,
        )
        for n in range(count)
    ]


def by_position(stored: Sequence[Stored]) -> list[Stored]:
    """In the order of partitions and offsets, whatever the order of arrival."""
    return sorted(stored, key=lambda record: (record.partition, record.offset))


def as_stored(messages: Sequence[Message], first_offsets: Mapping[int, int] | None = None) -> list[Stored]:
    """How `messages`, written one after the other, must lie in the log; a timestamp that was left open is -1."""
    following = dict(first_offsets or {})
    stored = []
    for message in messages:
        offset = following.get(message.partition, 0)
        following[message.partition] = offset + 1
        timestamp = -1 if message.timestamp is None else message.timestamp
        stored.append(Stored(message.partition, offset, timestamp, message.key, message.value, message.headers))
    return by_position(stored)


def as_read_by(reader: str, stored: Sequence[Stored]) -> list[Stored]:
    """`stored` without the difference between null and empty, for a reader that does not know it."""
    if reader not in READS_NULL_AS_EMPTY:
        return list(stored)
    return [
        record._replace(
            key=record.key or b"",
            value=record.value or b"",
            headers=tuple((name, value or b"") for name, value in record.headers),
        )
        for record in stored
    ]


def quick_groups(session_timeout_ms: int = 45_000, heartbeat_interval_ms: int = HEARTBEAT_INTERVAL_MS) -> Settings:
    """Settings of a broker whose groups settle soon, in either protocol."""
    return {
        "group.min.session.timeout.ms": 1_000,
        "group.initial.rebalance.delay.ms": 0,
        "group.consumer.min.session.timeout.ms": 1_000,
        "group.consumer.session.timeout.ms": session_timeout_ms,
        "group.consumer.min.heartbeat.interval.ms": heartbeat_interval_ms,
        "group.consumer.heartbeat.interval.ms": heartbeat_interval_ms,
        "group.consumer.assignment.interval.ms": 0,
    }
