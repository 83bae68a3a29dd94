"""Topics and partitions: offsets, sizes, and traffic.

A scrape opens no log. A partition not used in this run has the values that the last run stored at a clean shutdown;
after a kill it has no series until it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from barnabas.broker.http.metrics.metric_table import PARTITIONS_MAX, TOPICS_MAX
from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.broker.insight.inspection import logs
from barnabas.broker.insight.inspection.topics import TopicSummary, every_topic, topic_name
from barnabas.storage.errors import StorageError
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.api.stages.metering import Meter
    from barnabas.broker.services import Services

_SLICE = 100  # partitions read in a step, some ten µs each


def read_partitions(sources: Sources, readings: Readings) -> Steps[None]:
    """Add the values of topics and partitions, user topics before internal ones."""
    found = sorted(every_topic(sources.services), key=lambda topic: (topic.is_internal, topic.name))
    for topic in found[:TOPICS_MAX]:
        readings.add("kafka_topic_partitions", topic.partitions_count, topic.name)
    readings.add("barnabas_metrics_left_out", max(0, len(found) - TOPICS_MAX), "topics")
    _read_traffic(sources, [topic.name for topic in found[:TOPICS_MAX]], readings)
    places = _places(found)
    for number, (name, partition) in enumerate(islice(places, PARTITIONS_MAX), start=1):
        _read_partition(sources.services, name, partition, readings)
        if number % _SLICE == 0:
            yield
    readings.add("barnabas_metrics_left_out", sum(1 for _ in places), "partitions")


def _places(found: list[TopicSummary]) -> Iterator[tuple[str, int]]:
    return ((topic.name, partition) for topic in found for partition in topic.here)


def _read_traffic(sources: Sources, with_series: list[str], readings: Readings) -> None:
    """Add the traffic since the start, by topic; the sums include deleted topics."""
    records: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for topic, more_records, more_bytes in logs.appended(sources.services):
        records[topic] += more_records
        size[topic] += more_bytes
    past_records, past_bytes = logs.appended_before(sources.services)
    read = bytes_read(sources.services, sources.meter)
    for name, by_topic, past in (
        ("kafka_server_brokertopicmetrics_messagesin_total", records, past_records),
        ("kafka_server_brokertopicmetrics_bytesin_total", size, past_bytes),
        ("kafka_server_brokertopicmetrics_bytesout_total", read, read.pop("", 0)),
    ):
        readings.add(name, by_topic.total() + past)
        for topic in with_series:
            if topic in by_topic:
                readings.add(name, by_topic[topic], topic)


def bytes_read(services: Services, meter: Meter) -> Counter[str]:
    """Return the bytes fetched by topic; those of deleted topics are moved to the empty name."""
    counted = meter.bytes_read
    read: Counter[str] = Counter()
    for key, size in list(counted.items()):
        name = topic_name(services, key)
        if name is None and key != "":
            del counted[key]
            counted[""] += size
        read[name or ""] += size
    return read


def _read_partition(services: Services, topic: str, partition: int, readings: Readings) -> None:
    place = topic, partition
    try:
        log = logs.summary(services, topic, partition)
    except StorageError:
        return  # the directory is offline, which has a separate metric
    if log is None:
        return
    if log.held_back is not None:
        readings.add("kafka_cluster_partition_laststableoffsetlag", log.held_back, *place)
    readings.add("kafka_topic_partition_current_offset", log.log_end_offset, *place)
    readings.add("kafka_topic_partition_oldest_offset", log.log_start_offset, *place)
    readings.add("kafka_log_log_logendoffset", log.log_end_offset, *place)
    readings.add("kafka_log_log_logstartoffset", log.log_start_offset, *place)
    readings.add("kafka_log_log_numlogsegments", log.segments_count, *place)
    readings.add("kafka_log_log_size", log.size, *place)
