"""The topics that rows go to: whether they are there, and making those that are not.

Every task looks, as a topic may be deleted while a query runs. What is made is said in the log, so that a slip in a
name does not become a topic unnoticed.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.metadata import TopicInfo
from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.target import target_limits
from pyspark_barnabas.telling.own_log import own_log

_CREATION_MS = 10_000  # how long a topic that was just made may take to be there
_SETTLING_MS = 2_000  # how long a topic is waited for that nobody is asked to make: it may have been made just now

_FRESH_MS = 2_000  # how long what was learnt with something else is taken

_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)


class Topics:
    """The topics of one task, or of where Spark plans. KafkaError or SinkFailed for one that is not there.

    just_asked: topics that the client asks for in this moment, with something else. What it learns then is taken for
    some seconds only: a topic may be deleted before the first row comes.
    """

    def __init__(self, client: Client, settings: SinkSettings, just_asked: Collection[str] = ()) -> None:
        self._client = client
        self._settings = settings
        self._just_asked = just_asked
        self._is_fresh_until = client.deadline(_FRESH_MS)
        self._counts: dict[str, int] = {}

    def partitions_of(self, topic: str) -> int:
        """How many partitions it has; asked for once, and the same all through a task."""
        if topic not in self._counts:
            found = self._asked_before(topic) or self.find(topic)
            self._counts[topic] = len(found.partitions)
        return self._counts[topic]

    def _asked_before(self, topic: str) -> TopicInfo | None:
        if topic in self._just_asked and not self._is_fresh_until.is_over:
            with suppress(KafkaError):
                return self._client.cluster.topic(topic)
        return None

    def find(self, topic: str) -> TopicInfo:
        """The topic, which is made where it is missing and may be."""
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
        """By a request of ours where it is said with how many partitions; else as the broker does it by itself."""
        partitions = self._settings.new_topic_partitions
        if partitions is None:
            made = self._await(topic, _CREATION_MS, auto_create=True)
        else:
            try:
                create_topic(self._client, topic, partitions=partitions)
            except KafkaError as error:
                if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise
                there = [*there, topic]  # another task made it a moment ago, and says so
            made = self._await(topic, _CREATION_MS)
        if topic not in there:
            warning = target_limits.creation_warning(
                topic, there, len(made.partitions), is_asked=partitions is not None
            )
            own_log().warning("%s", warning)
        return made

    def _await(self, topic: str, timeout_ms: int, *, auto_create: bool = False) -> TopicInfo:
        client = self._client
        deadline = client.deadline(min(timeout_ms, client.timeout_ms))
        return client.with_retries(
            lambda: client.refresh([topic], deadline, auto_create=auto_create).topic(topic), deadline
        )
