"""A share session with one leader, and the records that were acquired in it.

It has a connection of its own, and ends with it, and with every error of a whole request. What was acquired in it is
then delivered again to any member: acknowledgements for it are no longer sent, but count as refused.

Invariants: a partition is forgotten only after everything acquired from it is acknowledged, because the broker takes
acknowledgements only for partitions of the session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.consume.consumer import FETCH_BYTES
from barnabas.client.consume.heartbeats import TopicIdPartition
from barnabas.client.consume.share.held_records import AcquiredRecord, HeldRecords
from barnabas.client.consume.share.share_requests import Acknowledgements, MemberSession, ShareMember, renews
from barnabas.client.errors import ConnectionFailed, UnsupportedByBroker, raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from barnabas.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from barnabas.protocol.registry import ApiKey

_RENEWS_SINCE = 2

Failures = dict[TopicPartition, KafkaError]


class ShareFetchRound(NamedTuple):
    """The acquired records and the failures of one ShareFetch."""

    records: list[tuple[HeldRecords, AcquiredRecord]]
    failures: Failures


class LeaderSession:
    """One member's session with one leader. Creating it connects, if need be; KafkaError if that fails."""

    def __init__(self, client: Client, node_id: int, member: ShareMember, deadline: Deadline) -> None:
        self._where = f"group {member.group_id!r}"
        self._connection = client.node(node_id, deadline, purpose=f"share session of {member.member_id}")
        self._session = MemberSession(member)
        self._held: dict[TopicIdPartition, HeldRecords] = {}
        self._failure: KafkaError | None = None
        self.lock_timeout_ms: int | None = None
        """How long a record is locked for its member, as of the last response."""

    @property
    def is_over(self) -> bool:
        """Whether a new session has to begin."""
        return self._failure is not None or not self._connection.is_open

    @property
    def is_open(self) -> bool:
        """Whether a returned record has no acknowledgement."""
        return any(held.is_open for held in self._held.values())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held."""
        return not self._held

    def drop_waiting(self) -> None:
        """Drop the records that were not returned. For a session that is over."""
        for held in self._held.values():
            held.drop_waiting()
        self._drop_finished()

    def fetch(
        self,
        wanted: Mapping[TopicPartition, TopicIdPartition],
        wait_ms: int,
        max_records: int | None,
        deadline: Deadline,
    ) -> ShareFetchRound:
        """Acquire records of these partitions. KafkaError if the whole request fails."""
        places = {each: where for where, each in wanted.items()}
        places |= {each: held.where for each, held in self._held.items()}
        request = self._session.fetch(places.keys(), wait_ms, FETCH_BYTES, max_records)
        response: ShareFetchResponse = self._ask(request, deadline)
        self._session.fetched(places.keys())
        came = ShareFetchRound([], {})
        for topic in response.responses:
            for data in topic.partitions:
                partition = TopicIdPartition(topic.topic_id, data.partition_index)
                where = places.get(partition)
                if where is None:
                    continue
                held = self._held.setdefault(partition, HeldRecords(where))
                try:
                    raise_for(data.error_code, data.error_message, f"{where[0]}-{where[1]}")
                    came.records.extend((held, each) for each in held.acquire(data))
                except KafkaError as error:
                    came.failures[where] = error
        self._drop_finished()
        return came

    def acknowledge(self, record: AcquiredRecord, kind: AcknowledgeType) -> bool:
        """Settle a record, for the next `commit`. Returns whether it was acquired here and may be acknowledged."""
        return any(
            held.where == (record.topic, record.partition) and held.acknowledge(record.record.offset, kind)
            for held in self._held.values()
        )

    def accept_returned(self) -> None:
        """Accept all returned records that have no acknowledgement."""
        for held in self._held.values():
            held.accept_returned()

    def close(self) -> None:
        """Close the connection. A broker reads the state of a group anew that has no connected member left."""
        self._connection.close()

    def commit(self, deadline: Deadline, *, ends: bool = False) -> Failures:
        """Send the acknowledgements; return the partitions for which they are refused. ends: end the session, too."""
        news = {partition: held.take() for partition, held in self._held.items() if held.has_news}
        names = {partition: self._held[partition].where for partition in news}
        self._drop_finished()
        if not news and (not ends or not self._session.partitions):
            return {}
        try:
            response: ShareAcknowledgeResponse = self._ask(self._acknowledgements(news, ends=ends), deadline)
        except KafkaError as error:
            return dict.fromkeys(names.values(), error)
        self._session.acknowledged()
        refused: Failures = {}
        for topic in response.responses:
            for data in topic.partitions:
                where = names.get(TopicIdPartition(topic.topic_id, data.partition_index))
                if where is None:
                    continue
                try:
                    raise_for(data.error_code, data.error_message, f"{where[0]}-{where[1]}")
                except KafkaError as error:
                    refused[where] = error
        return refused

    def _acknowledgements(self, news: Acknowledgements, *, ends: bool) -> ShareAcknowledgeRequest:
        if renews(news) and self._connection.version(ApiKey.SHARE_ACKNOWLEDGE) < _RENEWS_SINCE:
            raise UnsupportedByBroker("the broker is too old to renew the locks of records")
        return self._session.acknowledge(news, ends=ends)

    def _ask(self, request: ShareFetchRequest | ShareAcknowledgeRequest, deadline: Deadline) -> Any:
        """Return the response without an error at its top. Such an error, or no response, ends the session."""
        if self._failure is not None:
            raise self._failure
        try:
            if not self._connection.is_open:
                raise ConnectionFailed(f"{self._connection.address}: the share session ended with its connection")
            response = self._connection.ask(request, deadline)
            raise_for(response.error_code, response.error_message, self._where)
        except KafkaError as error:
            self._failure = error
            raise
        if response.acquisition_lock_timeout_ms:
            self.lock_timeout_ms = response.acquisition_lock_timeout_ms
        return response

    def _drop_finished(self) -> None:
        self._held = {partition: held for partition, held in self._held.items() if not held.is_empty}
