"""Reads topics for the rows of some transactions, aborted ones included: batch by batch, with one in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import EARLIEST, LATEST, READ_UNCOMMITTED, list_offsets
from barnabas.client.produce.new_batch import NewBatch
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.protocol.records.batch import HEADER_SIZE, BatchHeader, verify_crc
from barnabas.protocol.records.control import read_marker
from barnabas.protocol.records.record import iter_records
from pyspark_barnabas.cli.lost_rows import Found, LostRows, PartitionRows, Producer
from pyspark_barnabas.rows.digest import MODULUS, row_hash, tail
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.source.cluster import NOT_THERE, no_topic
from pyspark_barnabas.source.fetching import Fetcher
from pyspark_barnabas.source.ranges import OffsetRange

_FETCH_BYTES = 4 << 20


def scan(client: Client, topics: Iterable[str], producers: frozenset[Producer]) -> Found:
    """Return the rows of the producers' transactions in each partition of the topics, from its beginning to its end."""
    found: Found = {}
    for place, start, end in _ranges(client, topics):
        rows = PartitionRows()
        for header, batch in _batches(client, place, start, end):
            if header.is_control:
                marker = read_marker(batch)
                if marker is not None:
                    rows.marker(header.producer_id, is_commit=marker.commit)
            elif header.is_transactional and (producer := (header.producer_id, header.producer_epoch)) in producers:
                rows.data(producer, _rows(place, header, batch))
        found[place] = rows
    return found


def aborted_batches(client: Client, found: Found) -> Iterator[NewBatch]:
    """Yield the aborted batches, to be sent again as they are: records, order, timestamps and compression.

    Raise SinkFailed at the end of a partition if they are not what was found: what came before must not count then.
    """
    for place, rows in sorted(found.items()):
        if not rows.aborted.count:
            continue
        copied = LostRows()
        for header, batch in _batches(client, place, rows.aborted.first, rows.aborted.last + 1):
            if not header.is_control and (header.producer_id, header.producer_epoch) in rows.aborted_producers:
                copied.add(_rows(place, header, batch))
                yield NewBatch(
                    *place,
                    bytes(batch[HEADER_SIZE:]),
                    header.records_count,
                    header.base_timestamp,
                    header.max_timestamp,
                    header.compression,
                )
        if copied != rows.aborted:
            raise SinkFailed(
                f"{place[0]}-{place[1]} has {copied.count} of the {rows.aborted.count} rows that were found before: "
                "retention or compaction is removing them. Nothing was written"
            )


def _ranges(client: Client, topics: Iterable[str]) -> Iterator[tuple[TopicPartition, int, int]]:
    names = list(dict.fromkeys(topics))
    known = client.refresh(names, client.deadline())
    missing = [each for each in names if each not in known.topics or known.topic(each).error_code in NOT_THERE]
    if missing:
        there = client.refresh(None, client.deadline()).topics
        raise SinkFailed(
            f"there is {' and '.join(no_topic(each, there) for each in missing)}: --topic must be a topic that the "
            "query writes to"
        )
    for name in names:
        places: list[TopicPartition] = [(name, number) for number in sorted(known.topic(name).partitions)]
        starts = list_offsets(client, dict.fromkeys(places, EARLIEST))
        ends = list_offsets(client, dict.fromkeys(places, LATEST), isolation=READ_UNCOMMITTED)
        for place in places:
            yield place, starts[place].offset, ends[place].offset


def _batches(client: Client, place: TopicPartition, start: int, end: int) -> Iterator[tuple[BatchHeader, memoryview]]:
    fetcher = Fetcher(
        client,
        OffsetRange(*place, start, end),
        isolation=READ_UNCOMMITTED,
        fetch_bytes=_FETCH_BYTES,
        patience_ms=client.timeout_ms,
    )
    for answer in fetcher.answers():
        for header, batch in answer.batches:
            if start <= header.base_offset < end:
                yield header, batch


def _rows(place: TopicPartition, header: BatchHeader, batch: memoryview) -> LostRows:
    try:
        if not verify_crc(batch):
            raise DecodeError("its crc is wrong")
        hashes = [row_hash(place[0], tail(each.key, each.value, each.headers)) for each in iter_records(batch)]
    except DecodeError as error:
        where = f"{place[0]}-{place[1]}: the batch at offset {header.base_offset}"
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{where}: {error}") from error
    return LostRows(len(hashes), sum(hashes) % MODULUS, header.base_offset, header.last_offset)
