"""Topics with everything that a reader may meet: every codec, transactions with every end, tombstones, compacted gaps.

What is written is drawn from a seed. It is written as raw batches, for no client mixes all of this.
"""

import random
from collections.abc import Iterable
from pathlib import Path

from barnabas.client import transaction_requests
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.errors import raise_for
from barnabas.client.transaction_requests import EXPLICIT, ProducerIdentity
from barnabas.protocol.files.names import SEGMENT_CHECKSUMS
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.record import BatchRecord, iter_records
from tests.support.processes.server import Server
from tests.support.records.batches import rebuild_batch
from tests.support.requests import produce

START_MS = 1_700_000_000_000
_CODECS = range(5)
_TRANSACTION_TIMEOUT_MS = 600_000


class MixedTopic:
    """A topic while it is being written. `open_at_end` transactions are left open by `fill`."""

    def __init__(self, client: Client, name: str, partitions: int, seed: int, **configs: str) -> None:
        self.name = name
        self.partitions = partitions
        self._client = client
        self._random = random.Random(seed)
        self._open: dict[str, set[int]] = {}
        self._sequences: dict[tuple[ProducerIdentity, int], int] = {}
        self._identities: dict[str, ProducerIdentity] = {}
        create_topic(client, name, partitions=partitions, configs={"retention.ms": "-1"} | configs)

    def fill(self, steps: int, *, leave_open: bool) -> None:
        """Plain batches and those of three transactional producers; in the end a transaction that is open, or none."""
        for _ in range(steps):
            writer = self._random.choice(("", "", "x", "y", "z"))
            if writer in self._open and self._random.random() < 0.4:
                self.end(writer, commit=self._random.random() < 0.5)
            else:
                self.write(writer, self._random.randrange(self.partitions))
        for writer in sorted(self._open):
            self.end(writer, commit=self._random.random() < 0.5)
        if leave_open:
            self.write("last", 0)
            self.write("", 0)

    def write(self, writer: str, partition: int) -> None:
        """One batch: inside the writer's transaction, or plain where that is ""."""
        records = self._records()
        compression = self._random.choice(_CODECS)
        if not writer:
            self._produce(partition, build_batch(records, compression=compression), None)
            return
        identity = self._identity(writer)
        transactional_id = f"{self.name}.{writer}"
        if partition not in self._open.setdefault(writer, set()):
            transaction_requests.add_partitions(self._client, transactional_id, identity, [(self.name, partition)])
            self._open[writer].add(partition)
        sequence = self._sequences.get((identity, partition), 0)
        self._sequences[identity, partition] = sequence + len(records)
        batch = build_batch(
            records,
            compression=compression,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
        self._produce(partition, batch, transactional_id)

    def end(self, writer: str, *, commit: bool) -> None:
        """End the writer's transaction."""
        del self._open[writer]
        transactional_id = f"{self.name}.{writer}"
        transaction_requests.end(
            self._client, transactional_id, self._identities[writer], commit=commit, protocol=EXPLICIT
        )

    def _identity(self, writer: str) -> ProducerIdentity:
        if writer not in self._identities:
            begun = transaction_requests.init_producer(
                self._client, f"{self.name}.{writer}", timeout_ms=_TRANSACTION_TIMEOUT_MS
            )
            self._identities[writer] = begun.identity
        return self._identities[writer]

    def _records(self) -> list[NewRecord]:
        draw = self._random
        size = draw.choice((0, 1, 10, 60, 63, 64, 70, 300))
        return [
            NewRecord(
                draw.choice((None, b"", b"k%d" % draw.randrange(50))),
                draw.choice((None, b"", draw.randbytes(size), draw.randbytes(size), b"w" * draw.choice((9000, 1)))),
                draw.choice(((), (), (), [("h", b"1"), ("h", None)], [("", b""), ("ü", draw.randbytes(3))])),
                START_MS + draw.choice((0, draw.randrange(-1000, 1000), draw.randrange(10**9))),
            )
            for _ in range(draw.choice((1, 2, 10, 70, 150)))
        ]

    def _produce(self, partition: int, batch: bytearray, transactional_id: str | None) -> None:
        request = produce({partition: bytes(batch)}, self.name, transactional_id=transactional_id, timeout_ms=30_000)

        def attempt() -> None:
            deadline = self._client.deadline()
            connection = self._client.node(self._client.leader(self.name, partition, deadline), deadline)
            answer = connection.ask(request, deadline, highest_version=11).responses[0].partition_responses[0]
            raise_for(answer.error_code, answer.error_message, f"{self.name}-{partition}")

        self._client.with_retries(attempt, self._client.deadline())


def compact(server: Server, topic: str, partitions: Iterable[int]) -> None:
    """Kill the server, take records, and whole batches of them, out of the logs, and start it again.

    That is what a log cleaner leaves behind: batches keep their offsets and producers, some without any record.
    """
    server.kill()
    for partition in partitions:
        directory = server.data_dir / f"{topic}-{partition}"
        (directory / SEGMENT_CHECKSUMS).unlink(missing_ok=True)  # of what it synced: it would miss the records
        for log in sorted(directory.glob("*.log")):
            _thin_out(log)
            for suffix in (".index", ".timeindex"):
                log.with_suffix(suffix).unlink(missing_ok=True)
    server.start()


def _thin_out(log: Path) -> None:
    data = log.read_bytes()
    batches = [(header, data[start : start + header.size_in_bytes]) for start, header in iter_batches(data)]
    thinned: list[bytes] = []
    for number, (header, batch) in enumerate(batches):
        if header.is_control or number in (0, len(batches) - 1) or number % 4 == 1:
            thinned.append(batch)
        elif number % 4 == 2:
            thinned.append(bytes(rebuild_batch(header, _some(batch), compression=header.compression)))
        elif number % 8 == 3 and header.has_producer_id:
            thinned.append(bytes(rebuild_batch(header, [], compression=0)))
        elif not header.has_producer_id and number % 8 == 7:
            continue
        else:
            thinned.append(batch)
    log.write_bytes(b"".join(thinned))


def _some(batch: bytes) -> list[BatchRecord]:
    return [record for record in iter_records(batch) if record.offset % 3 != 0]
