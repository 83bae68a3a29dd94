"""meta.properties: the cluster and the node that a data directory belongs to.

Version 1 (KRaft): `version=1`, `cluster.id`, `node.id`, and `directory.id`, which may be missing. The cluster id is an
opaque string; the directory id is a uuid in Kafka's 22 characters, never one of the first hundred, which are reserved.

Three keys are not Kafka's, which ignores them. `barnabas.time.indexes=complete`: every time index in the directory was
made by a version that computes largest timestamps that clients leave out. A directory without it may have indexes that
omit such batches. `barnabas.log.starts=complete`: after retention deleted segments, their `.deleted` files stay until
the leader epochs are updated. In a directory without it a kill may have left epochs that begin below the first segment.
`barnabas.crc32c`: the CRC-32C of the other lines, because a changed id would be another id. An operator who edits the
file must remove that line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import properties
from barnabas.protocol.primitives import uuid_bytes, uuid_text
from barnabas.protocol.records.crc32c import crc32c

_VERSION = "1"
_RESERVED_IDS = 100
_TIME_INDEXES, _LOG_STARTS, _COMPLETE = "barnabas.time.indexes", "barnabas.log.starts", "complete"
_CHECKSUM = "barnabas.crc32c"


class MetaProperties(NamedTuple):
    """The content of the file. `directory_id` is 16 raw bytes, or None if the file has none yet.

    `tells_all_times`: no time index omits a batch whose header lacks its largest timestamp. `tells_log_starts`: leader
    epochs that begin below the first segment, without `.deleted` files, mean that segments are lost.
    """

    cluster_id: str
    node_id: int
    directory_id: bytes | None = None
    tells_all_times: bool = False
    tells_log_starts: bool = False


def encode(meta: MetaProperties) -> bytes:
    """Return the whole file, in version 1."""
    fields = {"version": _VERSION, "cluster.id": meta.cluster_id, "node.id": str(meta.node_id)}
    if meta.directory_id is not None:
        fields["directory.id"] = uuid_text(meta.directory_id)
    if meta.tells_all_times:
        fields[_TIME_INDEXES] = _COMPLETE
    if meta.tells_log_starts:
        fields[_LOG_STARTS] = _COMPLETE
    return properties.encode({**fields, _CHECKSUM: _checksum(fields)})


def _checksum(fields: Mapping[str, str]) -> str:
    return f"{crc32c(properties.encode(dict(sorted(fields.items())))):08x}"


def decode(data: bytes) -> MetaProperties:
    """Return the content of the file; DecodeError with a sentence for the operator if it is incomplete or invalid."""
    try:
        fields = properties.decode_utf8(data)
    except DecodeError as error:
        raise DecodeError(f"meta.properties: {error}") from error
    version = fields.get("version", "0")
    if version != _VERSION:
        raise DecodeError(f"meta.properties has version {version}, only {_VERSION} is supported")
    stored = fields.pop(_CHECKSUM, None)
    if stored is not None and stored != _checksum(fields):
        raise DecodeError(
            f"meta.properties has changed since it was written: its {_CHECKSUM} is not {_checksum(fields)}. "
            f"Restore it; if it was edited by hand, remove the line {_CHECKSUM}"
        )
    for key in ("cluster.id", "node.id"):
        if not fields.get(key):
            raise DecodeError(f"meta.properties has no {key}")
    node_id = fields["node.id"].strip()
    if not node_id.isdecimal():
        raise DecodeError(f"meta.properties: node.id {node_id!r} is not a number")
    directory_id = None
    if "directory.id" not in fields and not data.endswith((b"\n", b"\r")):  # it would be given another id
        raise DecodeError("meta.properties is cut off: it ends within a line, and has no directory.id")
    if "directory.id" in fields:
        try:
            directory_id = uuid_bytes(fields["directory.id"].strip())
        except ValueError as error:
            raise DecodeError(f"meta.properties: directory.id: {error}") from error
        if is_reserved_directory_id(directory_id):
            raise DecodeError(f"meta.properties: directory.id {fields['directory.id']} is reserved")
    tells_all_times, tells_log_starts = (fields.get(key) == _COMPLETE for key in (_TIME_INDEXES, _LOG_STARTS))
    return MetaProperties(fields["cluster.id"].strip(), int(node_id), directory_id, tells_all_times, tells_log_starts)


def is_reserved_directory_id(directory_id: bytes) -> bool:
    """Return whether the id is one of the first hundred, which have special meanings like `unassigned`."""
    return int.from_bytes(directory_id, "big") < _RESERVED_IDS
