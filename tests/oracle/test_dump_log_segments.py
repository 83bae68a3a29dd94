"""Kafka's dump tool reads every file that a broker of ours wrote, finds nothing wrong, and sees what the clients saw.

The directory: rolled segments in every compression, written by idempotent producers through small batches so that the
indexes have entries; a group with committed offsets; stopped cleanly.
"""

import base64
import json
import random
import re
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.client.client import Client
from barnabas.client.offsets import commit_offsets
from tests.compat.clients.confluent import Confluent
from tests.support.clients.java import run_tool
from tests.support.processes.broker import BrokerProcess

DUMP = "org.apache.kafka.tools.DumpLogSegments"
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
COUNT = 3000
SEGMENT_BYTES = 1024 * 1024
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")

BATCH = re.compile(
    r"baseOffset: (?P<base>\d+) lastOffset: (?P<last>\d+) count: (?P<count>\d+) baseSequence: (?P<sequence>-?\d+) .*"
    r"producerId: (?P<producer>-?\d+) .*compresscodec: (?P<compression>\w+) .*isvalid: (?P<valid>\w+)"
)
RECORD = re.compile(r"\| offset: (\d+) CreateTime: (\d+) .* headerKeys: \[(.*?)\] key: (\S+) payload: (\S+)")
# Of each segment that does not begin at 0 the tool believes that the offset before was -1; it says so of Kafka's too.
FALSE_ALARM = re.compile(r"Non-consecutive offsets in .*|\s*-1 is followed by \d+")

Seen = dict[str, list[tuple[int, int, str, str, str]]]  # topic -> (offset, timestamp, header keys, key, value)


class Written:
    """A stopped data directory and what a client read from it while it was served."""

    def __init__(self, data_dir: Path, seen: Seen) -> None:
        self.data_dir = data_dir
        self.seen = seen

    def dump(self, partition: str, *arguments: str) -> str:
        """What the tool prints of every file of `partition`."""
        files = sorted(path for path in (self.data_dir / partition).iterdir() if path.suffix in SUFFIXES)
        return run_tool(DUMP, "--files", ",".join(map(str, files)), *arguments)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    data_dir = tmp_path_factory.mktemp("dumped") / "data"
    with BrokerProcess(data_dir, {"log.segment.bytes": SEGMENT_BYTES}) as broker:
        for compression in COMPRESSIONS:
            _write(broker.address, compression)
        seen = {
            compression: [
                (each.offset, each.timestamp, "n", (each.key or b"").decode(), (each.value or b"").decode())
                for each in Confluent().read(broker.address, compression)
            ]
            for compression in COMPRESSIONS
        }
        with Client(broker.address) as client:
            commit_offsets(client, "readers", {("zstd", 0): 1234})
        assert broker.stop() == 0
    return Written(data_dir, seen)


def _write(address: str, compression: str) -> None:
    producer = Producer(
        {
            "bootstrap.servers": address,
            "enable.idempotence": True,
            "compression.type": compression,
            "batch.size": 32_000,
            "linger.ms": 1,
        }
    )
    source = random.Random(compression)
    for number in range(COUNT):
        value = base64.b64encode(source.randbytes(800)) + b"=" * 200  # librdkafka compresses what shrinks
        producer.produce(compression, key=f"key-{number}", value=value, headers={"n": str(number)})
    assert producer.flush(60) == 0


def _complaints(printed: str) -> list[str]:
    """Lines by which the tool says that something is wrong."""
    words = re.compile(
        r"mismatch|non-?consecutive|corrupt|invalid|followed by|error|exception|could not", re.IGNORECASE
    )
    lines = [line for line in printed.splitlines() if not line.startswith(("|", "baseOffset"))]
    return [line for line in lines if words.search(line) and not FALSE_ALARM.fullmatch(line)]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_dump_shows_what_the_client_read(written: Written, compression: str) -> None:
    printed = written.dump(f"{compression}-0", "--deep-iteration", "--print-data-log")
    assert _complaints(printed) == []
    records = [match.groups() for match in map(RECORD.match, printed.splitlines()) if match]
    found = [(int(offset), int(time), headers, key, value) for offset, time, headers, key, value in records]
    assert found == written.seen[compression]
    batches = [match.groupdict() for match in map(BATCH.match, printed.splitlines()) if match]
    assert {batch["compression"] for batch in batches} == {compression}
    assert {batch["valid"] for batch in batches} == {"true"}
    assert len({batch["producer"] for batch in batches}) == 1
    assert [int(batch["sequence"]) for batch in batches] == [int(batch["base"]) for batch in batches]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_indexes_of_rolled_segments_are_sound(written: Written, compression: str) -> None:
    segments = sorted((written.data_dir / f"{compression}-0").glob("*.log"))
    assert len(segments) > 2
    assert all(path.stat().st_size <= SEGMENT_BYTES for path in segments)
    printed = written.dump(f"{compression}-0", "--index-sanity-check")
    assert _complaints(printed) == []
    for segment in segments:
        for kind in (".index", ".timeindex"):
            assert f"{segment.with_suffix(kind)} passed sanity check." in printed


def test_snapshots_of_producers_are_read(written: Written) -> None:
    last = written.dump("gzip-0").rpartition(".snapshot")[2]
    assert re.search(rf"producerId: \d+ producerEpoch: 0 .*lastSequence: {COUNT - 1} lastOffset: {COUNT - 1} ", last)


def test_the_catalogue_is_decoded(written: Written) -> None:
    printed = written.dump("__cluster_metadata-0", "--cluster-metadata-decoder")
    assert _complaints(printed) == []
    assert "skipping" not in printed
    payloads = [json.loads(line.partition("payload: ")[2]) for line in printed.splitlines() if "payload: " in line]
    names = {it["data"]["name"] for it in payloads if it["type"] == "TOPIC_RECORD"}
    assert names == {*COMPRESSIONS, "__consumer_offsets"}
    assert len([it for it in payloads if it["type"] == "PARTITION_RECORD"]) == len(COMPRESSIONS) + 50


def test_committed_offsets_are_decoded(written: Written) -> None:
    [partition] = [
        path.name
        for path in written.data_dir.glob("__consumer_offsets-*")
        if any(p.stat().st_size for p in path.glob("*.log"))
    ]
    printed = written.dump(partition, "--offsets-decoder")
    assert _complaints(printed) == []
    [commit] = [line for line in printed.splitlines() if '"type":"1"' in line]
    assert '"group":"readers","topic":"zstd","partition":0' in commit
    assert '"offset":1234' in commit
