"""`partition.metadata` in a partition's directory: the id of the topic that the directory belongs to.

A name may be used again by another topic; the id identifies the topic. Knows the file, not the catalogue.
"""

from __future__ import annotations

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_partition_metadata, encode_partition_metadata
from barnabas.protocol.files.names import PARTITION_METADATA
from barnabas.protocol.primitives import uuid_text
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import CorruptFile

_BITS_ALIKE = 6  # one letter of the text form; two random ids differ in about 60 bits


def read_topic_id(directory: Directory, expected: bytes) -> bytes | None:
    """Return the topic's id, 16 bytes; None if there is no such file. CorruptFile if it cannot be parsed.

    `expected`: the id in the catalogue. An id that is nearly the same is this one, damaged: taken for another topic's,
    it would have the partition set aside, and created anew.
    """
    data = directory.read(PARTITION_METADATA)
    path = directory.path_of(PARTITION_METADATA)
    try:
        found = None if data is None else decode_partition_metadata(data)
    except DecodeError as error:
        raise CorruptFile(path, str(error)) from error
    if found is not None and found != expected:
        differing = int.from_bytes(found, "big") ^ int.from_bytes(expected, "big")
        if differing.bit_count() <= _BITS_ALIKE:
            in_file, known = uuid_text(found), uuid_text(expected)
            raise CorruptFile(path, f"the topic's id is {in_file} in this file, and {known} in the catalogue")
    return found


def write_topic_id(directory: Directory, topic_id: bytes) -> None:
    """Write the topic id of the directory. The name is durable with the directory's next sync."""
    directory.replace(PARTITION_METADATA, encode_partition_metadata(topic_id))
