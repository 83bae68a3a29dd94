"""The fields of records in internal topics and control batches, by name: schemas come from protocol, none is here.

Unknown record types (of a newer Kafka) and values that do not decode are distinguished: the first are shown as
bytes, the second are a DecodeError that `describe` shows beside the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from barnabas.logfiles.describe import shown
from barnabas.protocol.codec.compile import codec
from barnabas.protocol.codec.schema import Stored, Struct, schema_of
from barnabas.protocol.files import names
from barnabas.protocol.log_records import catalogue, control, group, share_state, transaction
from barnabas.protocol.log_records.versioned_messages import decode_key, decode_value
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.control import ControlRecordType, parse_control_key, parse_marker_value
from barnabas.protocol.records.record import BatchRecord

Decoder = Callable[[BatchRecord], dict[str, Any]]

CONTROL_VALUES: dict[ControlRecordType, type[Stored]] = {
    ControlRecordType.LEADER_CHANGE: control.LeaderChangeMessage,
    ControlRecordType.SNAPSHOT_HEADER: control.SnapshotHeaderRecord,
    ControlRecordType.SNAPSHOT_FOOTER: control.SnapshotFooterRecord,
    ControlRecordType.KRAFT_VERSION: control.KRaftVersionRecord,
    ControlRecordType.KRAFT_VOTERS: control.VotersRecord,
}


def decoder_for(topic: str, header: BatchHeader) -> Decoder | None:
    """Return the decoder of this batch's records, or None for a user's data."""
    if header.is_control:
        return control_record
    return DECODERS.get(topic)


def plain(value: Any) -> Any:
    """Return a struct as a dictionary of its fields that are not None, bytes as text or hex; lists likewise."""
    if isinstance(value, Struct):
        fields = {field.name: plain(getattr(value, field.name)) for field in schema_of(type(value)).fields}
        return {name: content for name, content in fields.items() if content is not None}
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return shown(bytes(value))
    return value


def control_record(record: BatchRecord) -> dict[str, Any]:
    """Decode a marker with its coordinator epoch, or one of the quorum's control records."""
    kind = parse_control_key(record.key)
    if kind in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        return {"endTxnMarker": kind.name, "coordinatorEpoch": parse_marker_value(record.value)}
    struct = CONTROL_VALUES.get(kind)
    if struct is None or record.value is None:
        return {"control": kind.name, "payload": shown(record.value)}
    version = int.from_bytes(record.value[:2], "big")
    return {"control": kind.name, "value": plain(codec(struct, version).decode(record.value, 0)[0])}


def metadata_record(record: BatchRecord) -> dict[str, Any]:
    """Decode a record of the catalogue."""
    if record.value is None:
        return {"payload": None}
    decoded, version = catalogue.decode_record(record.value)
    return {"type": type(decoded).__name__, "version": version, "data": plain(decoded)}


def coordinator_record(keys: Mapping[int, type[Stored]], values: Mapping[int, type[Stored]]) -> Decoder:
    """Return a decoder for a coordinator's topic: a typed key, and a value that is absent in a tombstone."""

    def decode(record: BatchRecord) -> dict[str, Any]:
        if record.key is None:
            return {"key": None, "payload": shown(record.value)}
        key = decode_key(keys, record.key)
        if key is None:
            return {"key": shown(record.key), "payload": shown(record.value)}
        fields = {"type": type(key).__name__.removesuffix("Key"), "key": plain(key)}
        value_type = values[int.from_bytes(record.key[:2], "big")]
        fields["value"] = None if record.value is None else plain(decode_value(value_type, record.value))
        return fields

    return decode


DECODERS: dict[str, Decoder] = {
    names.CLUSTER_METADATA_TOPIC: metadata_record,
    names.CONSUMER_OFFSETS_TOPIC: coordinator_record(group.KEYS, group.VALUES),
    names.TRANSACTION_STATE_TOPIC: coordinator_record(transaction.KEYS, transaction.VALUES),
    names.SHARE_GROUP_STATE_TOPIC: coordinator_record(share_state.KEYS, share_state.VALUES),
}
