"""The topics that rows are written to: whether they exist, and creating those that do not.

Every task checks, as a topic may be deleted while a query runs. Each creation is logged, so that a typo in a
name does not become a topic unnoticed.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.metadata import TopicInfo
from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.reporting.own_log import own_log
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.target import target_limits

_CREATION_MS = 10_000  # how long a topic that was just created may take to appear
_SETTLING_MS = 2_000  # how long to wait for a topic that may not be created: it may have been created just now

_FRESH_MS = 2_000  # how long metadata that came with another request is valid

_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)


class TargetTopics:
    """The topics of one task, or of Spark's planner. KafkaError or SinkFailed for one that does not exist.

    just_requested: topics that the client is requesting at this moment, with another request. The metadata is valid for
    some seconds only: a topic may be deleted before the first row comes.
    """

    def __init__(self, client: Client, settings: SinkSettings, just_requested: Collection[str] = ()) -> None:
        self._client = client
        self._settings = settings
        self._just_requested = just_requested
        self._is_fresh_until = client.deadline(_FRESH_MS)
        self._counts: dict[str, int] = {}

    def partitions_of(self, topic: str) -> int:
        """Return how many partitions the topic has; requested once, and the same for the whole task."""
        if topic not in self._counts:
            found = self._requested_before(topic) or self.find(topic)
            self._counts[topic] = len(found.partitions)
        return self._counts[topic]

    def _requested_before(self, topic: str) -> TopicInfo | None:
        if topic in self._just_requested and not self._is_fresh_until.is_over:
            with suppress(KafkaError):  # `find` asks again, and explains the error
                return self._client.cluster.topic(topic)
        return None

    def find(self, topic: str) -> TopicInfo:
        """Return the topic; create it if it is missing and may be created."""
        client = self._client
        deadline = client.deadline()
        try:
            return client.with_retries(lambda: client.refresh([topic], deadline).topic(topic), deadline, final=_UNKNOWN)
        except KafkaError as error:
            if error.code not in _UNKNOWN:
                raise
        there = client.refresh(None, client.deadline()).topics
        if not self._settings.creates_topics:
            return self._settled(topic, list(there))
        return self._create(topic, list(there))

    def _settled(self, topic: str, there: list[str]) -> TopicInfo:
        try:
            return self._await(topic, _SETTLING_MS)
        except KafkaError as error:
            if error.code not in _UNKNOWN:
                raise
            raise SinkFailed(target_limits.refused_creation(topic, there)) from error

    def _create(self, topic: str, there: list[str]) -> TopicInfo:
        """Create the topic by our own request if its number of partitions is set; else the broker auto-creates it."""
        partitions = self._settings.new_topic_partitions
        if partitions is None:
            made = self._await(topic, _CREATION_MS, auto_create=True)
        else:
            try:
                create_topic(self._client, topic, partitions=partitions)
            except KafkaError as error:
                if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise
                there = [*there, topic]  # another task created it a moment ago, and reports it
            made = self._await(topic, _CREATION_MS)
        if topic not in there:
            warning = target_limits.creation_warning(
                topic, there, len(made.partitions), is_requested=partitions is not None
            )
            own_log().warning("%s", warning)
        return made

    def _await(self, topic: str, timeout_ms: int, *, auto_create: bool = False) -> TopicInfo:
        client = self._client
        deadline = client.deadline(min(timeout_ms, client.timeout_ms))
        return client.with_retries(
            lambda: client.refresh([topic], deadline, auto_create=auto_create).topic(topic), deadline
        )
