"""A snapshot of the catalogue: its state in as few records as possible, as Kafka's own snapshots are.

Batches as in the log, numbered from 0, in the epoch of the last record they replace: SnapshotHeader with the voters,
the records, SnapshotFooter. Records that no image contains are carried unchanged. The in-sync replicas follow from the
leader: there is one replica, and a stop leaves it in sync, or eligible if ELR is tracked (Writer.resignation).

Knows the image and the records that recreate it; the journal chooses the moment and writes the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from itertools import islice

from barnabas.broker.metadata.image.framing import Versioned, encode_record
from barnabas.broker.metadata.image.image import METADATA_VERSION, NO_LEADER, Image, TopicImage
from barnabas.broker.metadata.image.topic_changes import Writer
from barnabas.broker.metadata.log.quorum import Quorum, snapshot_footer
from barnabas.protocol.log_records.catalogue import (
    ClientQuotaRecord,
    ConfigRecord,
    EntityData,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
)
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import control_batch
from barnabas.storage.steps import AT_ONCE

_NO_BROKER_EPOCH = -1


def snapshot(
    writer: Writer,
    quorum: Quorum,
    carried: Iterable[bytes],
    registration_version: int,
    *,
    epoch: int,
    timestamp_ms: int,
) -> Iterator[bytearray]:
    """Yield the batches of a snapshot file. `timestamp_ms` and `epoch` are those of the last batch it replaces.

    They are made on demand: do not request more once the image has changed.
    """
    header = quorum.snapshot_header(timestamp_ms)
    yield control_batch(header, timestamp_ms=timestamp_ms, leader_epoch=epoch)
    offset = len(header)
    values = _values(writer, carried, registration_version)
    while rows := [NewRecord(None, value, (), timestamp_ms) for value in islice(values, AT_ONCE)]:
        yield build_batch(rows, base_offset=offset, leader_epoch=epoch)
        offset += len(rows)
    yield control_batch(snapshot_footer(), timestamp_ms=timestamp_ms, base_offset=offset, leader_epoch=epoch)


def _values(writer: Writer, carried: Iterable[bytes], registration_version: int) -> Iterator[bytes]:
    image = writer.image
    yield from map(encode_record, _features(image))
    yield from map(encode_record, _registration(image, registration_version))
    yield from carried
    for topic in image.topics.values():
        yield from map(encode_record, _topic(topic, writer))
    yield from map(encode_record, _configs(image))
    yield from map(encode_record, _quotas(image))
    yield from map(encode_record, _producer_ids(image))


def _registration(image: Image, version: int) -> Iterator[Versioned]:
    if image.registration is not None:
        record = copy(image.registration.record)
        record.fenced = image.registration.fenced
        yield Versioned(record, version)


def _producer_ids(image: Image) -> Iterator[Versioned]:
    if image.next_producer_id > 0:
        broker_epoch = _NO_BROKER_EPOCH if image.registration is None else image.registration.broker_epoch
        yield Versioned(
            ProducerIdsRecord(
                broker_id=image.node_id, broker_epoch=broker_epoch, next_producer_id=image.next_producer_id
            )
        )


def _features(image: Image) -> Iterator[Versioned]:
    """Yield the levels, metadata.version first: it determines how to read the rest."""
    for name in sorted(image.features, key=lambda name: (name != METADATA_VERSION, name)):
        yield Versioned(FeatureLevelRecord(name=name, feature_level=image.features[name]))


def _topic(topic: TopicImage, writer: Writer) -> Iterator[Versioned]:
    yield Versioned(TopicRecord(name=topic.name, topic_id=topic.topic_id))
    for number, partition in enumerate(topic.partitions):
        record, version = writer.partition(topic.topic_id, number, partition.directory_id)
        assert isinstance(record, PartitionRecord)
        record.leader = partition.leader
        record.leader_epoch = partition.leader_epoch
        record.partition_epoch = partition.partition_epoch
        if writer.image.tracks_eligible_replicas and partition.leader == NO_LEADER:
            record.isr, record.eligible_leader_replicas, record.last_known_elr = [], record.replicas, record.replicas
        yield Versioned(record, version)


def _configs(image: Image) -> Iterator[Versioned]:
    for (resource_type, resource_name), configs in image.configs.items():
        for name, value in configs.items():
            yield Versioned(
                ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)
            )


def _quotas(image: Image) -> Iterator[Versioned]:
    for entity, quotas in image.quotas.items():
        for key, value in quotas.items():
            parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
            yield Versioned(ClientQuotaRecord(entity=parts, key=key, value=value, remove=False))
