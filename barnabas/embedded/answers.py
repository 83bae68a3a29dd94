"""The results of an embedded broker's methods. Plain values."""

from __future__ import annotations

from typing import Any, NamedTuple


class Record(NamedTuple):
    """One record of a partition. `timestamp` in ms since 1970; header keys are text, values bytes or None."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class TracedEvent(NamedTuple):
    """An event in a broker. docs/trace.md lists the kinds, with their facts.

    at_ms: by the clock that clients see. cause: the request or the timer that led to it; empty if it is not known.
    text: all of it as a line.
    """

    number: int
    at_ms: int
    kind: str
    facts: dict[str, Any]
    cause: dict[str, Any]
    text: str


class PartitionOffsets(NamedTuple):
    """The offsets of a partition. Readers of committed records stop at `last_stable_offset`."""

    topic: str
    partition: int
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int

    @property
    def held_back(self) -> int:
        """The number of offsets that open transactions hide from readers of committed records."""
        return self.high_watermark - self.last_stable_offset


class Transaction(NamedTuple):
    """A transactional id and the state of its present, or last, transaction, in the words of Kafka's own tools.

    started_ms: when the first partition was added, ms since 1970; None if none was. partitions: (topic, number) while
    the transaction is open or being ended.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int | None
    partitions: tuple[tuple[str, int], ...]

    @property
    def is_open(self) -> bool:
        """Whether readers of committed records may be waiting for its end."""
        return self.state in ("Ongoing", "PrepareCommit", "PrepareAbort")


class OpenTransaction(NamedTuple):
    """A transaction that has not ended, how long it has been open, and the partitions whose readers wait for it."""

    transaction: Transaction
    age_ms: int
    waiting: tuple[PartitionOffsets, ...]


class SharedRange(NamedTuple):
    """Adjacent records in flight for a share group, in the same state.

    state: available, acquired, acknowledged, archiving or archived. member_id: the member that holds them, while they
    are acquired; then `lock_left_ms` is how long it still may.
    """

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    state: str
    delivery_count: int
    member_id: str | None
    lock_left_ms: int | None


class SharedPartition(NamedTuple):
    """A partition of a share group. start_offset, lag: None if they are not known, as before the first record.

    in_flight: what was acquired, up to the last acquired record; empty while no member fetches the partition.
    """

    topic: str
    partition: int
    start_offset: int | None
    lag: int | None
    in_flight: tuple[SharedRange, ...]


class SharedGroup(NamedTuple):
    """A share group: its state in Kafka's words, the ids of its members, and the partitions that it has begun."""

    group_id: str
    state: str
    members: tuple[str, ...]
    partitions: tuple[SharedPartition, ...]

    @property
    def in_flight(self) -> tuple[SharedRange, ...]:
        """The records in flight in all partitions."""
        return tuple(each for partition in self.partitions for each in partition.in_flight)

    @property
    def held(self) -> dict[str, list[SharedRange]]:
        """The acquired records, by the member that holds them."""
        found: dict[str, list[SharedRange]] = {}
        for each in self.in_flight:
            if each.member_id is not None:
                found.setdefault(each.member_id, []).append(each)
        return found


def shared_group(group_id: str, state: str, members: list[str], partitions: list[tuple[Any, ...]]) -> SharedGroup:
    """Return the group from a broker's plain values."""
    return SharedGroup(
        group_id,
        state,
        tuple(members),
        tuple(
            SharedPartition(
                topic, number, start_offset, lag, tuple(SharedRange(topic, number, *each) for each in in_flight)
            )
            for topic, number, start_offset, lag, in_flight in partitions
        ),
    )


class Answer(NamedTuple):
    """An explanation: sentences, the important one first, and the facts behind them. str(): a line per sentence."""

    sentences: tuple[str, ...]
    evidence: dict[str, Any]

    def __str__(self) -> str:
        return "\n".join(self.sentences)


class Hanging(dict[str, Answer]):
    """Answers by name of what hangs: "group g", "transactional id tx". str(): all of them, each under its name."""

    def __str__(self) -> str:
        parts = [f"{about}:\n" + "\n".join(f"  {each}" for each in answer.sentences) for about, answer in self.items()]
        return "\n".join(parts) or "Nothing hangs."
