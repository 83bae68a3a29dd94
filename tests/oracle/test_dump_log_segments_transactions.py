"""Kafka's dump tool tells of transactions what happened: markers, the index of aborted ones, snapshots, coordinators.

The directory: forty transactions in each of two topics, every third aborted. "first" is written by librdkafka, which
speaks the older protocol, an offset of a group with each; "second" by our client, which speaks the newer one, where
each end raises the epoch. One transaction of each stays open. Then a clean stop.
"""

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.client.client import Client
from barnabas.client.transactions.producer import TransactionalProducer
from tests.compat.tools import Tools
from tests.support.processes.server import Server

DUMP = "org.apache.kafka.tools.DumpLogSegments"
COUNT = 40
RECORDS = 3
IS_COMMIT = [number % 3 != 2 for number in range(COUNT)]
SEGMENT_BYTES = 1024 * 1024  # two segments for each topic
GROUP = "goes-along"
SUFFIXES = (".log", ".txnindex", ".snapshot")

BATCH = re.compile(
    r"baseOffset: (\d+) lastOffset: (\d+) .* producerId: (\d+) producerEpoch: (\d+) .*"
    r"isTransactional: true isControl: (true|false) .* isvalid: true"
)
MARKER = re.compile(r"endTxnMarker: (COMMIT|ABORT) coordinatorEpoch: (\d+)")
ABORTED = re.compile(r"version: 0 producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)")
SNAPSHOT = re.compile(
    r"producerId: (\d+) producerEpoch: (\d+) coordinatorEpoch: (-?\d+) currentTxnFirstOffset: OptionalLong(\S+)"
)
STATE = re.compile(r'key: \{"type":"0","data":\{"transactionalId":"(\w+)"\}\} payload: (\{.*\})')
OFFSET = re.compile(r'key: \{"type":"1",.*"group":"goes-along".* payload: .*"offset":(\d+)')

EMPTY, ONGOING = "Empty", "Ongoing"
PREPARE_COMMIT, PREPARE_ABORT = "PrepareCommit", "PrepareAbort"
COMPLETE_COMMIT, COMPLETE_ABORT = "CompleteCommit", "CompleteAbort"


class Batch(NamedTuple):
    first: int
    last: int
    producer_id: int
    epoch: int
    is_marker: bool


class Transactions(NamedTuple):
    """What a partition's log says: each transaction's records and its marker, in order; the last has no marker."""

    records: list[list[Batch]]
    markers: list[Batch]


Dumped = Mapping[str, str]


@pytest.fixture(scope="module")
def dumped(
    tmp_path_factory: pytest.TempPathFactory, new_server: Callable[[Path, Mapping[str, object]], Server]
) -> Iterator[Dumped]:
    """What the tool prints of both topics and of both coordinators' topics."""
    data_dir = tmp_path_factory.mktemp("dumped") / "data"
    with new_server(data_dir, {"log.segment.bytes": SEGMENT_BYTES}) as server:
        write_with_librdkafka(server.address)
        with Client(server.address) as client:
            write_with_our_client(client)
            assert server.stop() in (0, 143)
    tools = Tools()

    def dump(pattern: str, *arguments: str) -> str:
        files = [path for path in data_dir.glob(f"{pattern}/*") if path.suffix in SUFFIXES and path.stat().st_size]
        said = tools.run(DUMP, "--files", ",".join(map(str, sorted(files))), *arguments)
        assert said.status == 0, said
        assert not re.search(r"mismatch|corrupt|exception|could not", said.out, re.IGNORECASE)
        return said.out

    yield {
        "first": dump("first-0", "--deep-iteration", "--print-data-log"),
        "second": dump("second-0", "--deep-iteration", "--print-data-log"),
        "states": dump("__transaction_state-*", "--deep-iteration", "--transaction-log-decoder"),
        "offsets": dump("__consumer_offsets-*", "--deep-iteration", "--offsets-decoder"),
    }
    tools.close()


def value(number: int) -> bytes:
    return random.Random(number).randbytes(6000).hex().encode()


def write_with_librdkafka(address: str) -> None:
    producer = Producer({"bootstrap.servers": address, "transactional.id": "first"})
    consumer = Consumer({"bootstrap.servers": address, "group.id": GROUP})
    producer.init_transactions(60)
    for number in range(COUNT + 1):
        producer.begin_transaction()
        for _ in range(RECORDS):
            producer.produce("first", value(number), partition=0)
        assert producer.flush(30) == 0
        if number == COUNT:
            break
        offsets = [TopicPartition("first", 0, number)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
        (producer.commit_transaction if IS_COMMIT[number] else producer.abort_transaction)(30)
    consumer.close()


def write_with_our_client(client: Client) -> None:
    producer = TransactionalProducer(client, "second")
    producer.init()
    for number in range(COUNT + 1):
        producer.begin()
        for _ in range(RECORDS):
            producer.send("second", value(number), partition=0)
        producer.flush()
        if number < COUNT:
            (producer.commit if IS_COMMIT[number] else producer.abort)()


def transactions(printed: str) -> Transactions:
    """Told by the batches of the dumped log."""
    batches = [
        Batch(int(first), int(last), int(producer_id), int(epoch), control == "true")
        for first, last, producer_id, epoch, control in BATCH.findall(printed)
    ]
    runs = [(is_marker, list(run)) for is_marker, run in itertools.groupby(batches, lambda batch: batch.is_marker)]
    markers = [run for is_marker, run in runs if is_marker]
    assert [len(run) for run in markers] == [1] * COUNT
    return Transactions([run for is_marker, run in runs if not is_marker], [run[0] for run in markers])


def ends(printed: str) -> list[bool]:
    """Whether each marker commits."""
    return [kind == "COMMIT" for kind, _ in MARKER.findall(printed)]


@pytest.mark.parametrize("topic", ["first", "second"])
def test_every_transaction_has_its_records_and_its_marker(dumped: Dumped, topic: str) -> None:
    found = transactions(dumped[topic])
    assert ends(dumped[topic]) == IS_COMMIT
    assert [sum(batch.last - batch.first + 1 for batch in run) for run in found.records] == [RECORDS] * (COUNT + 1)
    assert len({batch.producer_id for run in (*found.records, found.markers) for batch in run}) == 1
    rises = 1 if topic == "second" else 0
    assert [run[0].epoch for run in found.records] == [rises * number for number in range(COUNT + 1)]
    assert [marker.epoch for marker in found.markers] == [rises * (number + 1) for number in range(COUNT)]


@pytest.mark.parametrize("topic", ["first", "second"])
def test_the_index_tells_of_each_aborted_transaction(dumped: Dumped, topic: str) -> None:
    found = transactions(dumped[topic])
    expected = [
        (marker.producer_id, run[0].first, marker.last, marker.last + 1)
        for run, marker, is_commit in zip(found.records, found.markers, IS_COMMIT, strict=False)
        if not is_commit
    ]
    assert [tuple(map(int, entry)) for entry in ABORTED.findall(dumped[topic])] == expected
    assert dumped[topic].count(".txnindex") == 2  # segments, both with some


@pytest.mark.parametrize("topic", ["first", "second"])
def test_the_last_snapshot_tells_where_the_open_transaction_began(dumped: Dumped, topic: str) -> None:
    found = transactions(dumped[topic])
    [open_batch, *_] = found.records[-1]
    assert SNAPSHOT.findall(dumped[topic].rpartition(".snapshot")[2]) == [
        (str(open_batch.producer_id), str(open_batch.epoch), "0", f"[{open_batch.first}]")
    ]


@pytest.mark.parametrize("name", ["first", "second"])
def test_the_coordinators_log_tells_every_state(dumped: Dumped, name: str) -> None:
    states = [json.loads(payload)["data"] for owner, payload in STATE.findall(dumped["states"]) if owner == name]
    walked = [status for status, _ in itertools.groupby(state["transactionStatus"] for state in states)]
    ways = {True: [ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT], False: [ONGOING, PREPARE_ABORT, COMPLETE_ABORT]}
    assert walked == [EMPTY, *(status for is_commit in IS_COMMIT for status in ways[is_commit]), ONGOING]
    batch = transactions(dumped[name]).records[-1][0]
    assert (states[-1]["producerId"], states[-1]["producerEpoch"]) == (batch.producer_id, batch.epoch)
    assert states[-1]["transactionPartitions"] == [{"topic": name, "partitionIds": [0]}]
    prepared = [state for state in states if state["transactionStatus"] in (PREPARE_COMMIT, PREPARE_ABORT)]
    touched = {"first": {"first", "__consumer_offsets"}, "second": {"second"}}
    for state in prepared:
        assert {place["topic"] for place in state["transactionPartitions"]} == touched[name]


def test_the_groups_log_has_the_offsets_between_the_same_markers(dumped: Dumped) -> None:
    assert ends(dumped["offsets"]) == IS_COMMIT
    assert [int(offset) for offset in OFFSET.findall(dumped["offsets"])] == [*range(COUNT)]
