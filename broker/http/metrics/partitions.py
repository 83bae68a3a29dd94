"""Topics and partitions: offsets, sizes, and what went in and out.

Nothing is opened for a scrape. A partition that nobody used in this run is told by what is known of it from the last
one, if that ended cleanly; after a kill it has no series until somebody uses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.broker.http.metrics.table import PARTITIONS_MAX, TOPICS_MAX
from barnabas.broker.turns import let_others_run
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.catalogue.image import Topic
    from barnabas.broker.partitions.partitions import Partitions

_SLICE = 100  # partitions read, some ten µs each, before others have their turn


async def read_partitions(sources: Sources, readings: Readings) -> None:
    """Add what is told of topics and partitions, the users' before the broker's own."""
    topics = sorted(sources.services.catalogue.topics.values(), key=lambda topic: (topic.is_internal, topic.name))
    for topic in topics[:TOPICS_MAX]:
        readings.add("kafka_topic_partitions", len(topic.partitions), topic.name)
    readings.add("barnabas_metrics_left_out", max(0, len(topics) - TOPICS_MAX), "topics")
    _read_traffic(sources, [topic.name for topic in topics[:TOPICS_MAX]], readings)
    places = _places(topics)
    for number, (topic, partition) in enumerate(islice(places, PARTITIONS_MAX), start=1):
        _read_partition(sources.services.partitions, topic.name, partition, readings)
        if number % _SLICE == 0:
            await let_others_run(sources.services.clock)
    readings.add("barnabas_metrics_left_out", sum(1 for _ in places), "partitions")


def _places(topics: list[Topic]) -> Iterator[tuple[Topic, int]]:
    return ((topic, partition) for topic in topics for partition in range(len(topic.partitions)))


def _read_traffic(sources: Sources, told: list[str], readings: Readings) -> None:
    """What went in and out since the start, by topic; the sums have what was deleted, too."""
    records: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for log in sources.services.partitions.open_logs():
        more_records, more_bytes = log.appended
        records[log.topic] += more_records
        size[log.topic] += more_bytes
    past_records, past_bytes = sources.services.partitions.appended_to_deleted
    read = _bytes_read(sources)
    for name, by_topic, past in (
        ("kafka_server_brokertopicmetrics_messagesin_total", records, past_records),
        ("kafka_server_brokertopicmetrics_bytesin_total", size, past_bytes),
        ("kafka_server_brokertopicmetrics_bytesout_total", read, read.pop("", 0)),
    ):
        readings.add(name, by_topic.total() + past)
        for topic in told:
            if topic in by_topic:
                readings.add(name, by_topic[topic], topic)


def _bytes_read(sources: Sources) -> Counter[str]:
    """By topic; what was read of topics that are deleted now is under the empty name, and kept there."""
    catalogue, counted = sources.services.catalogue, sources.meter.bytes_read
    read: Counter[str] = Counter()
    for key, size in list(counted.items()):
        topic = catalogue.topics_by_id.get(key) if isinstance(key, bytes) else catalogue.topics.get(key)
        if topic is None and key != "":
            del counted[key]
            counted[""] += size
        read["" if topic is None else topic.name] += size
    return read


def _read_partition(partitions: Partitions, topic: str, partition: int, readings: Readings) -> None:
    place = topic, partition
    if partitions.is_open(topic, partition):
        log = partitions.get(topic, partition)
        start, end, size, segments = log.log_start_offset, log.log_end_offset, log.size, log.segments_count
        held_back = log.high_watermark - log.last_stable_offset
        readings.add("kafka_cluster_partition_laststableoffsetlag", held_back, *place)
    else:
        try:
            resting = partitions.directory.resting(topic, partition)
        except StorageError:
            return  # the directory is offline, which has a metric of its own
        if resting is None:
            return
        start, end, size, segments = resting
    readings.add("kafka_topic_partition_current_offset", end, *place)
    readings.add("kafka_topic_partition_oldest_offset", start, *place)
    readings.add("kafka_log_log_logendoffset", end, *place)
    readings.add("kafka_log_log_logstartoffset", start, *place)
    readings.add("kafka_log_log_numlogsegments", segments, *place)
    readings.add("kafka_log_log_size", size, *place)
