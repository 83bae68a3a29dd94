"""`partition.metadata` in a partition's directory: the id of the topic that the directory belongs to.

A name may be used again by another topic; the id tells whose the files are. Knows the file, not the catalogue.
"""

from __future__ import annotations

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_partition_metadata, encode_partition_metadata
from barnabas.protocol.files.names import PARTITION_METADATA
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import CorruptFile


def read_topic_id(directory: Directory) -> bytes | None:
    """The topic's id, 16 bytes; None where there is no such file. CorruptFile if it cannot be understood."""
    data = directory.read(PARTITION_METADATA)
    try:
        return None if data is None else decode_partition_metadata(data)
    except DecodeError as error:
        raise CorruptFile(directory.path_of(PARTITION_METADATA), str(error)) from error


def write_topic_id(directory: Directory, topic_id: bytes) -> None:
    """Note whose directory it is. The name is durable with the directory's next sync."""
    directory.replace(PARTITION_METADATA, encode_partition_metadata(topic_id))
