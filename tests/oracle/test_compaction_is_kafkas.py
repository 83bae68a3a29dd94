"""The same workload on Apache Kafka and on Barnabas, compacted by each: the records that are left are the same.

Both brokers begin their segments at the same offsets, for these are full then. Tombstones and
markers outlive the test (delete.retention.ms); everything else is as it will be once all but the last segment was
compacted. Ours is killed on the way. At the end Kafka's dump tool reads what our cleaner wrote.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.protocol.files.names import FileKind, FileState, parse_segment_file
from tests.support.clients import topics
from tests.support.clients.java import run_tool
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until

SETTINGS = {"log.cleaner.backoff.ms": 100, "log.retention.check.interval.ms": 100}
TOPIC = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.01",
    "file.delete.delay.ms": "1000",
}
ROUNDS, KEYS = 24, 7
PADDING = bytes(80_000)
Left = list[tuple[int, bytes | None, bytes | None]]
Both = tuple[Path, dict[str, Left], dict[str, Left]]


class Workload:
    """Plain records, tombstones, and transactions of which every third is aborted."""

    def __init__(self, address: str) -> None:
        self._address = address
        admin = AdminClient({"bootstrap.servers": address})
        admin.create_topics([NewTopic("t", 1, 1, config=TOPIC)])["t"].result(PATIENCE_S)
        self._watching = Consumer({"bootstrap.servers": address, "group.id": "watching"})
        self._end_offset = 0

    def write(self, rounds: range) -> None:
        common = {"bootstrap.servers": self._address, "linger.ms": 0}
        plain = Producer({**common, "enable.idempotence": True})
        transactional = Producer({**common, "transactional.id": f"tx-{rounds.start}"})
        transactional.init_transactions(30)
        for number in rounds:
            for key in range(3):
                self._send(plain, b"key-%d" % ((number * 3 + key) % KEYS), b"plain-%d-%d" % (number, key))
            if number % 5 == 4:
                self._send(plain, b"only-%d" % (number - 2), None)
            transactional.begin_transaction()
            self._send(transactional, b"key-%d" % (number % 3), b"transactional-%d" % number)
            self._send(transactional, b"only-%d" % number, b"transactional")
            if number % 3 == 0:
                transactional.abort_transaction(30)
            else:
                transactional.commit_transaction(30)
            self._end_offset += 1  # the marker, which Kafka writes when it has answered
            until(lambda: self._watching.get_watermark_offsets(TopicPartition("t", 0), 30)[1] == self._end_offset)

    def _send(self, producer: Producer, key: bytes, value: bytes | None) -> None:
        producer.produce("t", None if value is None else value + PADDING, key, partition=0)
        assert producer.flush(30) == 0
        self._end_offset += 1


def read(address: str, isolation: str) -> Left:
    return [
        (record.offset, record.key, None if record.value is None else record.value.removesuffix(PADDING))
        for record in topics.committed(address, "t", isolation=isolation)
    ]


def offset_of(record: tuple[int, bytes | None, bytes | None]) -> int:
    return record[0]


def latest(found: Left) -> dict[bytes, bytes | None]:
    """The last value of each key."""
    return {key: value for _, key, value in found if key is not None}


def segments(data_dir: Path) -> list[int]:
    files = [parse_segment_file(path.name) for path in (data_dir / "t-0").iterdir()]
    return sorted(
        file.base_offset
        for file in files
        if file is not None and file.kind is FileKind.LOG and file.state is FileState.LIVE
    )


def wait_until_compacted(data_dir: Path) -> None:
    """All but the last segment."""

    def is_compacted() -> bool:
        path = data_dir / "cleaner-offset-checkpoint"
        found = decode_offsets(path.read_bytes() if path.exists() else b"").get(("t", 0))
        return found is not None and found >= segments(data_dir)[-1]

    until(is_compacted, PATIENCE_S)


def ran(server: Server, *, is_killed: bool) -> dict[str, Left]:
    """What readers of both isolation levels see at the end."""
    with server:
        left = _ran(server, is_killed=is_killed)
        server.stop()
    return left


def _ran(server: Server, *, is_killed: bool) -> dict[str, Left]:
    workload = Workload(server.address)
    workload.write(range(ROUNDS // 2))
    if is_killed:
        server.kill()
        server.start()
    while_compacted = [read(server.address, "read_committed") for _ in range(3)]
    assert all(found == sorted(found, key=offset_of) for found in while_compacted)
    assert (
        len({tuple(sorted((key, value or b"") for key, value in latest(found).items())) for found in while_compacted})
        == 1
    )
    workload.write(range(ROUNDS // 2, ROUNDS))
    wait_until_compacted(server.data_dir)
    return {isolation: read(server.address, isolation) for isolation in ("read_committed", "read_uncommitted")}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Our directory, what is left there, and what is left in Kafka's."""
    home = tmp_path_factory.mktemp("both")
    with ThreadPoolExecutor() as pool:
        ours = pool.submit(ran, BrokerProcess(home / "ours" / "data", SETTINGS), is_killed=True)
        kafkas = pool.submit(ran, KafkaProcess(home / "kafka" / "data", SETTINGS), is_killed=False)
        return home / "ours" / "data", ours.result(), kafkas.result()


def test_the_same_records_are_left(both: Both) -> None:
    _, ours, kafkas = both
    for isolation, left in kafkas.items():
        assert sorted(set(ours[isolation]) ^ set(left)) == []
        assert ours[isolation] == left
    assert len(ours["read_committed"]) < 3 * ROUNDS
    assert any(value is None for _, _, value in ours["read_committed"])


def test_kafkas_dump_tool_reads_what_was_compacted(both: Both) -> None:
    data_dir, left, _ = both
    files = sorted(str(path) for path in (data_dir / "t-0").glob("*.log"))
    said = run_tool(
        "org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--print-data-log", "--files", ",".join(files)
    )
    assert "isvalid: false" not in said
    assert "Found timestamp mismatch" not in said
    assert "Index sanity" not in said
    offsets = {int(found) for found in re.findall(r"^\| offset: (\d+).*?keySize: \d", said, re.MULTILINE)}
    assert {offset for offset, _, _ in left["read_uncommitted"]} <= offsets
