"""The consumers' messages in the opaque bytes of the classic group protocol.

JoinGroup has a subscription per assignor, SyncGroup an assignment, each after its version (i16). The broker reads them
only to show them and to know which topics a group reads. A newer version is read as the newest known one: new fields
are only ever appended.
"""

from typing import TypeVar

from barnabas.protocol.codec.compile import codec
from barnabas.protocol.codec.schema import BYTES, INT32, STRING, Stored, array, field
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer

M = TypeVar("M", bound=Stored)


class ConsumerProtocolSubscriptionTopicPartition(Stored):
    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class ConsumerProtocolSubscription(Stored, versions="0-3"):
    topics: list[str] = field(array(STRING))
    user_data: bytes | None = field(BYTES, nullable="0+", default=None)
    owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = field(
        array(ConsumerProtocolSubscriptionTopicPartition), versions="1+", default=[], ignorable=True
    )
    generation_id: int = field(INT32, versions="2+", default=-1, ignorable=True)
    rack_id: str | None = field(STRING, versions="3+", nullable="3+", default=None, ignorable=True)


class ConsumerProtocolAssignmentTopicPartition(Stored):
    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class ConsumerProtocolAssignment(Stored, versions="0-3"):
    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = field(
        array(ConsumerProtocolAssignmentTopicPartition)
    )
    user_data: bytes | None = field(BYTES, nullable="0+", default=None)


def decode_subscription(data: Buffer) -> ConsumerProtocolSubscription:
    """Return a consumer's subscription, from its metadata in JoinGroup. DecodeError for other bytes."""
    return _decode(ConsumerProtocolSubscription, data)


def decode_assignment(data: Buffer) -> ConsumerProtocolAssignment:
    """Return a consumer's assignment, from the bytes in SyncGroup. DecodeError for other bytes."""
    return _decode(ConsumerProtocolAssignment, data)


def _decode(struct: type[M], data: Buffer) -> M:
    if len(data) < 2:
        raise DecodeError(f"{len(data)} bytes cannot hold a version")
    version = int.from_bytes(data[:2], "big", signed=True)
    if version < 0:
        raise DecodeError(f"{struct.__name__} has no version {version}")
    return codec(struct, min(version, struct.__schema__.valid_versions[-1])).decode(data, 2)[0]
