"""ShareFetch and ShareAcknowledge of one member with one broker: a share session (KIP-932). Pure: it sends nothing.

The broker knows the session's partitions, so that a request names only what changes. A session is bound to its
connection, and each response raises its epoch: after an error or a lost connection a new one begins, and the records
that were acquired in the old one are delivered again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from barnabas.client.consume.heartbeats import TopicIdPartition
from barnabas.client.consume.share.held_records import Acknowledgement
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.messages import share_acknowledge, share_fetch

INITIAL_EPOCH, FINAL_EPOCH = 0, -1
_LAST_EPOCH = 0x7FFF_FFFF
_BATCH_OPTIMIZED, _RECORD_LIMIT = 0, 1
_MAX_RECORDS = 500

Acknowledgements = Mapping[TopicIdPartition, Sequence[Acknowledgement]]


class ShareMember(NamedTuple):
    """A member of a share group."""

    group_id: str
    member_id: str


class MemberSession:
    """The epoch and the partitions of a share session."""

    def __init__(self, member: ShareMember) -> None:
        self._member = member
        self._epoch = INITIAL_EPOCH
        self._known: frozenset[TopicIdPartition] = frozenset()

    @property
    def partitions(self) -> frozenset[TopicIdPartition]:
        """The partitions that the broker fetches in this session."""
        return self._known

    def fetch(
        self, wanted: AbstractSet[TopicIdPartition], wait_ms: int, max_bytes: int, max_records: int | None
    ) -> share_fetch.ShareFetchRequest:
        """Return the request for these partitions. max_records: acquire no more; None: whole batches, as they come."""
        limit = _MAX_RECORDS if max_records is None else max_records
        return share_fetch.ShareFetchRequest(
            group_id=self._member.group_id,
            member_id=self._member.member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=max_bytes,
            max_records=limit,
            batch_size=limit,
            share_acquire_mode=_BATCH_OPTIMIZED if max_records is None else _RECORD_LIMIT,
            topics=[
                share_fetch.FetchTopic(
                    topic_id=topic_id,
                    partitions=[
                        share_fetch.FetchPartition(partition_index=number, acknowledgement_batches=[])
                        for number in numbers
                    ],
                )
                for topic_id, numbers in _by_topic(wanted - self._known).items()
            ],
            forgotten_topics_data=[
                share_fetch.ForgottenTopic(topic_id=topic_id, partitions=numbers)
                for topic_id, numbers in _by_topic(self._known - wanted).items()
            ],
        )

    def fetched(self, wanted: AbstractSet[TopicIdPartition]) -> None:
        """Note that the broker has accepted a request for these partitions."""
        self._known = frozenset(wanted)
        self._next_epoch()

    def acknowledge(self, news: Acknowledgements, *, ends: bool = False) -> share_acknowledge.ShareAcknowledgeRequest:
        """Return the request with these acknowledgements. ends: it ends the session, which releases the others."""
        topics: dict[bytes, list[share_acknowledge.AcknowledgePartition]] = {}
        for (topic_id, number), batches in news.items():
            topics.setdefault(topic_id, []).append(
                share_acknowledge.AcknowledgePartition(
                    partition_index=number,
                    acknowledgement_batches=[
                        share_acknowledge.AcknowledgementBatch(
                            first_offset=each.first_offset, last_offset=each.last_offset, acknowledge_types=each.types
                        )
                        for each in batches
                    ],
                )
            )
        return share_acknowledge.ShareAcknowledgeRequest(
            group_id=self._member.group_id,
            member_id=self._member.member_id,
            share_session_epoch=FINAL_EPOCH if ends else self._epoch,
            is_renew_ack=renews(news),
            topics=[
                share_acknowledge.AcknowledgeTopic(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in topics.items()
            ],
        )

    def acknowledged(self) -> None:
        """Note that the broker has answered a ShareAcknowledge."""
        self._next_epoch()

    def _next_epoch(self) -> None:
        self._epoch = 1 if self._epoch == _LAST_EPOCH else self._epoch + 1


def renews(news: Acknowledgements) -> bool:
    """Return whether one of the acknowledgements renews a lock."""
    return any(AcknowledgeType.RENEW in each.types for batches in news.values() for each in batches)


def _by_topic(partitions: Iterable[TopicIdPartition]) -> dict[bytes, list[int]]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, number in sorted(partitions):
        topics.setdefault(topic_id, []).append(number)
    return topics
