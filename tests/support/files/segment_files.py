"""A partition's directory written batch by batch, as a broker leaves it: segments, with indexes if they are wanted."""

from collections.abc import Sequence
from pathlib import Path

from barnabas.logfiles.data_directory import PartitionFiles, read_layout
from barnabas.protocol.files import offset_index, time_index, txn_index
from barnabas.protocol.files.meta_properties import MetaProperties, encode
from barnabas.protocol.files.names import META_PROPERTIES, FileKind, partition_directory, segment_file
from barnabas.protocol.records.batch import parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import end_txn_marker

TIME_MS = 1_700_000_000_000


class LogWriter:
    """Writes one partition of a data directory; offsets continue automatically."""

    def __init__(self, data_dir: Path, topic: str = "orders", partition: int = 0) -> None:
        self.data_dir = data_dir
        self.directory = data_dir / partition_directory(topic, partition)
        self.directory.mkdir(parents=True)
        (data_dir / META_PROPERTIES).write_bytes(encode(MetaProperties("A8D_7gAAAAAAAAAAAAAAAQ", 1)))
        self.next_offset = self.base_offset = 0
        self.batches: list[bytes] = []
        self.aborted: list[txn_index.AbortedTxn] = []

    def data(
        self,
        values: Sequence[bytes],
        *,
        producer: tuple[int, int] | None = None,
        sequence: int = 0,
        compression: int = 0,
        transactional: bool | None = None,
    ) -> int:
        """A batch of records with these values; transactional where there is a producer. Returns its base offset."""
        producer_id, epoch = producer or (-1, -1)
        batch = build_batch(
            [NewRecord(b"k%d" % at, value, [], TIME_MS + self.next_offset + at) for at, value in enumerate(values)],
            base_offset=self.next_offset,
            leader_epoch=3,
            compression=compression,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence if producer else -1,
            transactional=producer is not None if transactional is None else transactional,
        )
        return self.take(batch)

    def marker(self, producer: tuple[int, int], *, commit: bool) -> int:
        """The end of a producer's transaction. Returns its offset."""
        return self.take(end_txn_marker(commit, *producer, 0, TIME_MS + self.next_offset, self.next_offset, 3))

    def take(self, batch: bytes | bytearray) -> int:
        """A batch as it is, at the offset that it says."""
        header = parse_header(batch)
        self.batches.append(bytes(batch))
        self.next_offset = header.next_offset
        return header.base_offset

    def roll(self, *, index: bool = True) -> None:
        """Write what was taken as a segment, and begin the next one."""
        if not self.batches:
            return
        self.path().write_bytes(b"".join(self.batches))
        if index:
            self._write_indexes()
        if self.aborted:
            self.path(FileKind.TXN_INDEX).write_bytes(txn_index.encode(self.aborted))
        self.base_offset, self.batches, self.aborted = self.next_offset, [], []

    def path(self, kind: FileKind = FileKind.LOG) -> Path:
        """A file of the present segment."""
        return self.directory / segment_file(self.base_offset, kind)

    def _write_indexes(self) -> None:
        offsets: list[tuple[int, int]] = []
        times: list[tuple[int, int]] = []
        position, largest = 0, -1
        for batch in self.batches:
            header = parse_header(batch)
            largest = max(largest, header.max_timestamp)
            if position:
                offsets.append((header.last_offset - self.base_offset, position))
                if not times or largest > times[-1][0]:
                    times.append((largest, header.last_offset - self.base_offset))
            position += len(batch)
        self.path(FileKind.OFFSET_INDEX).write_bytes(offset_index.encode(offsets))
        self.path(FileKind.TIME_INDEX).write_bytes(time_index.encode(times))

    def files(self) -> PartitionFiles:
        """The partition as the source lists it, once what was taken is written."""
        self.roll(index=False)
        (found,) = read_layout(str(self.directory), lambda topic, partition: True)
        return found
