"""A data directory made without a broker: the catalogue in it, on real files, and partitions with given records."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from barnabas.broker.config import BrokerConfig
from barnabas.broker.metadata.catalogue import Catalogue
from barnabas.protocol.files.checkpoints import encode_partition_metadata
from barnabas.protocol.files.meta_properties import MetaProperties, decode, encode
from barnabas.protocol.files.names import (
    META_PROPERTIES,
    PARTITION_METADATA,
    FileKind,
    partition_directory,
    segment_file,
)
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import RealFiles

CLUSTER_METADATA = "__cluster_metadata-0"
CLUSTER_ID = "Barnabas-Test-Cluster0"
DIRECTORY_ID = bytes(range(16, 32))
_HOLDER = """
import sys
from barnabas.storage.disk.files import RealFiles
RealFiles().lock(sys.argv[1])
print("locked", flush=True)
sys.stdin.read()
"""


def open_catalogue(data_dir: Path, config: BrokerConfig | None = None) -> Catalogue:
    """The catalogue of `data_dir`, a new one if there is none."""
    data_dir.mkdir(parents=True, exist_ok=True)
    properties = data_dir / META_PROPERTIES
    if not properties.exists():
        properties.write_bytes(encode(MetaProperties(CLUSTER_ID, 1, DIRECTORY_ID)))
    meta = decode(properties.read_bytes())
    assert meta.directory_id is not None
    root = Directory(Disk(RealFiles(), str(data_dir)), str(data_dir))
    return Catalogue.open(
        root.subdirectory(CLUSTER_METADATA),
        node_id=meta.node_id,
        directory_id=meta.directory_id,
        config=config or BrokerConfig(),
        now_ms=lambda: int(time.time() * 1000),
        random_bytes=os.urandom,
    )


def write_partition(data_dir: Path, catalogue: Catalogue, topic: str, partition: int, values: Sequence[bytes]) -> None:
    """Give a partition that has no files yet one batch of records, in the epoch the catalogue gives it."""
    directory = data_dir / partition_directory(topic, partition)
    directory.mkdir()
    (directory / PARTITION_METADATA).write_bytes(encode_partition_metadata(catalogue.topics[topic].topic_id))
    rows = [NewRecord(None, value, (), 1_700_000_000_000) for value in values]
    batch = build_batch(rows, leader_epoch=catalogue.leader_epoch(topic, partition)) if rows else b""
    (directory / segment_file(0, FileKind.LOG)).write_bytes(batch)


def snapshot(path: Path) -> dict[str, bytes | None]:
    """Of all files, and of directories by name: to see that nothing was changed."""
    return {str(each): each.read_bytes() if each.is_file() else None for each in path.rglob("*")}


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Another process holds the lock; its id."""
    command = [sys.executable, "-c", _HOLDER, str(path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        yield holder.pid
        holder.communicate("")
