"""Batches and records in a readable form: one dictionary each, printed as a line of text or of JSON.

Names are those of Kafka's own dump tool. Keys and values are shown as text where they are text, else as hex.
Internal topics' records are decoded with their schemas; a record that cannot be decoded is shown as bytes, with the
reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.compression import COMPRESSION_NAMES
from barnabas.protocol.records.record import BatchRecord

TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")


def batch_fields(position: int, header: BatchHeader, crc_ok: bool) -> dict[str, Any]:
    """Return the fields of the header, with its position and whether its CRC is right."""
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.records_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "position": position,
        TIMESTAMP_TYPES[header.timestamp_type]: header.max_timestamp,
        "size": header.size_in_bytes,
        "magic": header.magic,
        "compresscodec": COMPRESSION_NAMES.get(header.compression, f"unknown({header.compression})"),
        "crc": header.crc,
        "isvalid": crc_ok,
    }


def shown(data: bytes | None) -> str | None:
    """Return bytes as text if they are printable UTF-8, else as hex behind 0x; None stays None."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "0x" + data.hex()
    return text if text.isprintable() else "0x" + data.hex()


def record_fields(
    record: BatchRecord, header: BatchHeader, decode: Callable[[BatchRecord], dict[str, Any]] | None
) -> dict[str, Any]:
    """Return the fields of one record; `decode`, for an internal topic's record, is tried first."""
    fields: dict[str, Any] = {"offset": record.offset, TIMESTAMP_TYPES[header.timestamp_type]: record.timestamp}
    fields["keySize"] = -1 if record.key is None else len(record.key)
    fields["valueSize"] = -1 if record.value is None else len(record.value)
    if record.headers:
        fields["headers"] = {key: shown(value) for key, value in record.headers}
    if decode is not None:
        try:
            return fields | decode(record)
        except DecodeError as error:
            fields["undecodable"] = str(error)
    return fields | {"key": shown(record.key), "payload": shown(record.value)}


def line(fields: dict[str, Any]) -> str:
    """Return `name: value` pairs on one line, as Kafka's tool prints them."""
    return " ".join(
        f"{name}: {str(value).lower() if isinstance(value, bool) else value}" for name, value in fields.items()
    )
