"""The checks before the first row is written, where Spark plans: the cluster, and the topic of the option.

They are done once in each process for each set of settings, so that the later batches of a stream cost little: Spark
ends a process that was idle for a minute, and then the next batch checks again. So a stream waits here for an
unavailable broker as long as its tasks do, and a batch write, which begins only once, no longer than for one request.
Topics that rows name themselves are checked by the tasks.
"""

from __future__ import annotations

import threading
from collections.abc import Collection

from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.client import Client
from barnabas.protocol.errors import KafkaError
from pyspark_barnabas.cluster.clients import client_for
from pyspark_barnabas.cluster.first_contact import wait_for_first_contact
from pyspark_barnabas.reporting.own_log import own_log
from pyspark_barnabas.sink.error_explanations import explain
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings
from pyspark_barnabas.sink.target import target_limits
from pyspark_barnabas.sink.target.topics import TargetTopics

_kept = threading.local()


def look_before_writing(settings: SinkSettings, columns: Collection[str], *, is_stream: bool = True) -> None:
    """Raise SinkFailed if no row of these columns could be written, with the option to change."""
    seen: set[tuple[SinkSettings, bool]] = _kept.__dict__.setdefault("seen", set())
    has_keys = "key" in columns
    if (settings, has_keys) in seen:
        return
    connection = settings.connection
    client = client_for(connection)
    if is_stream:
        timeout_ms, option = settings.delivery_timeout_ms, "kafka.delivery.timeout.ms"
    else:
        timeout_ms, option = connection.request_timeout_ms, "kafka.request.timeout.ms"
    try:
        wait_for_first_contact(client, connection, timeout_ms=timeout_ms, option=option)
        client.refresh([], client.deadline(timeout_ms))  # a broker that answered an earlier query may be away by now
        if settings.topic is not None:
            TargetTopics(client, settings).find(settings.topic)
            _look_at_settings(client, settings, settings.topic, has_keys=has_keys)
    except KafkaError as error:
        raise explain(error, settings, settings.prefix or "spark-", "looking for the topic and its cluster") from error
    seen.add((settings, has_keys))


def _look_at_settings(client: Client, settings: SinkSettings, topic: str, *, has_keys: bool) -> None:
    """Check the settings of the topic; if the principal may not read them, nothing is reported."""
    try:
        found = describe_configs(client, ResourceType.TOPIC, topic, target_limits.KEYS)
    except KafkaError as error:
        if error.code.retriable:
            raise
        own_log().debug("the settings of topic %r are not checked: %s", topic, error)
        return
    configs = {each.name: each.value or "" for each in found}
    if refused := target_limits.refusal(topic, configs, has_keys=has_keys):
        raise SinkFailed(refused)
    if warning := target_limits.warning(topic, configs, settings):
        own_log().warning("%s", warning)
