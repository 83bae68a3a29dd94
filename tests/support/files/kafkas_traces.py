"""What a running Apache Kafka has done in its data directory: how far it has compacted, and metadata checkpoints."""

from pathlib import Path

from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.protocol.files.names import (
    CLEANER_CHECKPOINT,
    FileKind,
    FileState,
    MetadataSnapshot,
    parse_metadata_snapshot,
    parse_segment_file,
)
from tests.support.files.data_directory import CLUSTER_METADATA


def cleaned_to(data_dir: Path, topic: str, partition: int) -> int:
    """The first offset that the cleaner has not reached; 0 where it has done nothing."""
    path = data_dir / CLEANER_CHECKPOINT
    rows = decode_offsets(path.read_bytes()) if path.exists() else {}
    return rows.get((topic, partition), 0)


def active_segment(data_dir: Path, topic: str, partition: int) -> int:
    """The base offset of the newest segment, which no cleaner touches."""
    found = map(parse_segment_file, (path.name for path in (data_dir / f"{topic}-{partition}").iterdir()))
    live = [file for file in found if file and (file.kind, file.state) == (FileKind.LOG, FileState.LIVE)]
    return max(file.base_offset for file in live)


def metadata_checkpoints(data_dir: Path) -> list[MetadataSnapshot]:
    """Those that stand for a part of the log, in order."""
    found = map(parse_metadata_snapshot, (path.name for path in (data_dir / CLUSTER_METADATA).iterdir()))
    return sorted(each for each in found if each and each.end_offset)
