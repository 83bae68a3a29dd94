"""The metrics of groups and queues that Apache Kafka 4.4.0 has in JMX are here, but for those that say nothing here."""

import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.broker.http.metrics.metric_table import BY_NAME
from barnabas.client.client import Client
from barnabas.client.consume.share.share_consumer import ShareConsumer
from tests.support.clients.java import FAST_START, run_program
from tests.support.clients.queues import new_queue
from tests.support.kafka.process import KafkaProcess
from tests.support.ports import unused_port

TYPES = (
    *("GroupMetadataManager", "group-coordinator-metrics", "share-coordinator-metrics"),
    *("ShareGroupMetrics", "SharePartitionMetrics", "ShareSessionCache", "DelayedShareFetchMetrics"),
)
_INSIDE = "what happens inside Kafka's coordinator: its threads, queues and buffers"
_AVERAGE = "a figure of a moving window, where the count beside it is enough"
_PLUGIN = "of the plugin for topology descriptions, which there is not"
WITHOUT_MEANING = {
    r"(group|share)_coordinator_metrics_(event|batch|background|thread)_.*": _INSIDE,
    r"(group|share)_coordinator_metrics_.*_(rate|avg|max)": _AVERAGE,
    r"group_coordinator_metrics_streams_group_topology_description_.*": _PLUGIN,
    r"group_coordinator_metrics_offset_(commit|deletion|expiration)_count": "requests are counted by API",
    r"group_coordinator_metrics_(offset_count|group_completed_rebalance_count)": "not counted; groups have their lag",
    r"groupmetadatamanager_numoffsets": "not counted; groups have their lag",
    r"share_coordinator_metrics_last_pruned_offset": "the log start offset of the partition",
    r"sharepartitionmetrics_(fetchlock.*|inflightbatchmessagecount)": "there are no locks, nor sizes of batches",
    r"sharegroupmetrics_(partitionloadtimems|requesttopicpartitionsfetchratio|topicpartitionsacquiretimems)": _INSIDE,
    r"sharesessioncache_sharesessionevictions_total": "no session is evicted: a new one is refused",
    r"delayedsharefetchmetrics_expires_total": "a quiet fetch is no failure",
}
"""By the name without `kafka_server_` or `kafka_coordinator_group_`, why it is not here."""


class JmxMetric(NamedTuple):
    """A metric as JMX has it."""

    name: str
    """Under which the JMX exporter has it."""
    kind: str
    labels: frozenset[str]
    value: float


@pytest.fixture(scope="module")
def kafkas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[JmxMetric]]:
    """Kafka's, of a broker with a share group whose member got its partition."""
    port = unused_port()
    remote = {"port": port, "rmi.port": port, "authenticate": "false", "ssl": "false", "host": "127.0.0.1"}
    options = tuple(f"-Dcom.sun.management.jmxremote.{key}={value}" for key, value in remote.items())
    settings = {"group.share.assignment.interval.ms": 0, "share.coordinator.state.topic.num.partitions": 1}
    data_dir = tmp_path_factory.mktemp("kafka") / "data"
    kafka = KafkaProcess(data_dir, settings, jvm_options=("-Xmx1g", *FAST_START, *options))
    with kafka, Client(kafka.address) as client:
        new_queue(client, "jobs", 1)
        with ShareConsumer(client, "jobs", ["jobs"]) as member:
            assert member.poll(20_000)
            found = run_program(Path(__file__).with_name("MetricNames.java"), str(port), *TYPES)
    metrics = defaultdict(list)
    for each in map(_metric, found.splitlines()):
        metrics[each.name].append(each)
    return metrics


def _metric(line: str) -> JmxMetric:
    type, name, kind, value, *labels = line.split("\t")
    prefix = "kafka_coordinator_group" if type == "GroupMetadataManager" else "kafka_server"
    exported = f"{prefix}_{type}_{name}".replace("-", "_").lower()
    if kind == "counter":
        exported = exported.removesuffix("persec") + "_total"
    return JmxMetric(exported, kind, frozenset(each.partition("=")[0] for each in labels), float(value))


def _why_not(name: str) -> str | None:
    short = re.sub("^kafka_(server|coordinator_group)_", "", name)
    return next((why for pattern, why in WITHOUT_MEANING.items() if re.fullmatch(pattern, short)), None)


def test_each_metric_is_here_or_has_a_reason(kafkas: dict[str, list[JmxMetric]]) -> None:
    assert {name for name in kafkas if name not in BY_NAME and _why_not(name) is None} == set()
    assert {name for name in kafkas if name in BY_NAME and _why_not(name) is not None} == set()


def test_the_labels_are_kafkas(kafkas: dict[str, list[JmxMetric]]) -> None:
    ours = {name: set(BY_NAME[name].labels) for name in kafkas if name in BY_NAME}
    assert ours == {name: set(kafkas[name][0].labels) for name in ours}
