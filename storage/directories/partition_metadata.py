"""`partition.metadata` in a partition's directory: the id of the topic that the directory belongs to.

A name may be used again by another topic; the id tells whose the files are. Knows the file, not the catalogue.
"""

from __future__ import annotations

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_partition_metadata, encode_partition_metadata
from barnabas.protocol.files.names import PARTITION_METADATA
from barnabas.protocol.primitives import uuid_text
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import CorruptFile

_BITS_ALIKE = 6  # as many as one letter of its text has; two ids that were drawn differ in about 60


def read_topic_id(directory: Directory, expected: bytes) -> bytes | None:
    """The topic's id, 16 bytes; None where there is no such file. CorruptFile if it cannot be understood.

    `expected`: the id that the catalogue has. One that is nearly the same is this one, damaged: as another topic's, the
    partition would be set aside, and begun anew.
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
            said, known = uuid_text(found), uuid_text(expected)
            raise CorruptFile(path, f"the topic's id is {said} by this file, and {known} in the catalogue")
    return found


def write_topic_id(directory: Directory, topic_id: bytes) -> None:
    """Note whose directory it is. The name is durable with the directory's next sync."""
    directory.replace(PARTITION_METADATA, encode_partition_metadata(topic_id))
