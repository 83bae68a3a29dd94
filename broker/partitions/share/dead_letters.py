# compiled: mypyc
"""The dead letters of a share group (KIP-1191): records that were rejected, or not processed after the last delivery.

Pure: decides which topic may have them, and builds the records. A dead letter says in its headers where the record
lies and why it ended; the record's key and value are copied if the group has that set, its headers and timestamp never.
A copy that does not fit into `max.message.bytes` is left out, and its headers are written all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from barnabas.protocol.records.batch import HEADER_SIZE
from barnabas.protocol.records.builder import NewRecord, encode_records

if TYPE_CHECKING:
    from asyncio import Future

Pause: TypeAlias = "Future[None] | None"
"""What a pause waits for; None: nothing, other work may run."""


class DeadLetterCause(Enum):
    """The reason why records are not delivered any more, as Apache Kafka words it."""

    REJECTED = "Offset rejected by client."
    WORN_OUT = "Offset delivery count exceeded the threshold."


class DeadLetter(NamedTuple):
    """A range of records that ended alike."""

    first: int
    last: int
    delivery_count: int
    cause: DeadLetterCause


class DeadLetterSource(NamedTuple):
    """The share partition that dead letters come from."""

    group_id: str
    topic: str
    """Its name, or its id in text if it was deleted."""
    partition: int


class CopiedRecord(NamedTuple):
    """The contents of a dead letter: a record's, or nothing."""

    offset: int
    letter: DeadLetter
    key: bytes | None = None
    value: bytes | None = None


class LetterBatch(NamedTuple):
    """The records of one batch, before they have a timestamp."""

    area: bytes
    records_count: int
    ranges: list[tuple[int, int]]
    """First and last offset of the source's records, in order."""


def joined(letters: Iterable[DeadLetter]) -> list[DeadLetter]:
    """Make one of letters that adjoin and are alike. They are given in order."""
    found: list[DeadLetter] = []
    for letter in letters:
        if found and found[-1].last + 1 == letter.first and found[-1][2:] == letter[2:]:
            found[-1] = found[-1]._replace(last=letter.last)
        else:
            found.append(letter)
    return found


def in_groups(letters: Iterable[DeadLetter], records_max: int) -> Iterator[list[DeadLetter]]:
    """Divide letters into groups of at most so many records. Long letters are cut."""
    group: list[DeadLetter] = []
    room = records_max
    for letter in letters:
        first = letter.first
        while first <= letter.last:
            last = min(letter.last, first + room - 1)
            is_whole = first == letter.first and last == letter.last
            group.append(letter if is_whole else letter._replace(first=first, last=last))
            room -= last - first + 1
            first = last + 1
            if not room:
                yield group
                group, room = [], records_max
    if group:
        yield group


def without_first(letters: Iterable[DeadLetter], records_count: int) -> list[DeadLetter]:
    """Return the letters without so many records at the beginning."""
    left: list[DeadLetter] = []
    for letter in letters:
        first = min(letter.first + records_count, letter.last + 1)
        records_count -= first - letter.first
        if first <= letter.last:
            left.append(letter._replace(first=first))
    return left


def refusal(topic: str, *, exists: bool, is_enabled: bool, may_create: bool, prefix: str) -> str:
    """Return why a topic gets no dead letters now; empty if it gets them. In the order in which Kafka looks."""
    if not topic:
        return "the group has no dead-letter topic"
    if topic.startswith("__"):
        return "the name begins with __"
    if exists and not is_enabled:
        return "errors.deadletterqueue.group.enable is not set for the topic"
    if not exists and not may_create:
        return "the topic does not exist, and errors.deadletterqueue.auto.create.topics.enable is not set"
    if not topic.startswith(prefix):
        return f"the name does not begin with errors.deadletterqueue.topic.name.prefix={prefix}"
    return ""


def letter_batches(
    copies: Iterable[CopiedRecord | Pause], source: DeadLetterSource, max_bytes: int
) -> Iterator[LetterBatch | Pause]:
    """Yield the batches of dead letters, each as large as the topic takes, and pauses.

    A batch of one record may be larger: the topic refuses it.
    """
    area, count = bytearray(), 0
    ranges: list[tuple[int, int]] = []
    for copy in copies:
        if not isinstance(copy, CopiedRecord):
            yield copy
            continue
        yield None
        encoded = _encoded(copy, source, count)
        if HEADER_SIZE + len(encoded) > max_bytes:
            copy = copy._replace(key=None, value=None)
            encoded = _encoded(copy, source, count)
        if count and HEADER_SIZE + len(area) + len(encoded) > max_bytes:
            yield LetterBatch(bytes(area), count, ranges)
            area, count, ranges = bytearray(), 0, []
            encoded = _encoded(copy, source, count)
        area += encoded
        count += 1
        begins_anew = not ranges or ranges[-1][1] + 1 != copy.offset
        first = copy.offset if begins_anew else ranges.pop()[0]
        ranges.append((first, copy.offset))
    if count:
        yield LetterBatch(bytes(area), count, ranges)


def _encoded(copy: CopiedRecord, source: DeadLetterSource, number: int) -> bytes:
    """Return a record of a batch, in which all have the same timestamp."""
    headers = [(name, text.encode()) for name, text in letter_headers(copy, source)]
    return bytes(encode_records([NewRecord(copy.key, copy.value, headers, 0)], first=number))


def letter_headers(copy: CopiedRecord, source: DeadLetterSource) -> list[tuple[str, str]]:
    """Return the headers of a dead letter, in Kafka's order."""
    return [
        ("__dlq.errors.topic", source.topic),
        ("__dlq.errors.partition", str(source.partition)),
        ("__dlq.errors.offset", str(copy.offset)),
        ("__dlq.errors.group", source.group_id),
        ("__dlq.errors.delivery.count", str(copy.letter.delivery_count)),
        ("__dlq.errors.message", copy.letter.cause.value),
    ]
