"""Record batches in a probe: as expressions in requests, as rows in answers.

{batch("a", "b")}                                   two records
{batch("a", producer=5, epoch=0, sequence=0, transactional=True)}
{put(batch("a"), 16, "03")}                         bytes put over it, the checksum right again
{spoil(batch("a"), 62, "01")}                       the same with the old checksum
{behind(batch("a", compression="gzip"), "00")}      bytes behind its records, length and checksum right
{framed("lz4", "a", "b")}                           records in compressed frames of their own, one behind the other
{summed("a", "00000000")}                           records in a frame of lz4 with this checksum of its content
{batch("a") + batch("b" * 100)[:-1]}                two batches, the second cut by a byte
{message(1, "v")}                                   one message of a format before batches
{subscription("g")}                                 the metadata of a joining consumer
{plain("alice")}                                    the message that authenticates a client: security/exchanges.py
"""

import struct
import zlib
from typing import Any

from xxhash import xxh32_intdigest

from barnabas.protocol.records.batch import HEADER_SIZE, BatchHeader, parse_header
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.compression import COMPRESSION_IDS, COMPRESSION_NAMES, compress
from barnabas.protocol.records.control import read_marker
from barnabas.protocol.records.crc32c import crc32c
from tests.support.probes.names import Names
from tests.support.probes.tree import Node
from tests.support.security import exchanges

NOW = 1_700_000_000_000  # in the past: no clock takes it for the future. No topic deletes by time.


def batch(
    *values: str | None,
    key: str | None = "k",
    timestamp: int = NOW,
    compression: str = "none",
    producer: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    count: int = 1,
    **options: Any,
) -> bytes:
    """One batch, a record for each value, `v` when none is given, and that `count` times."""
    rows = [(_bytes(key), _bytes(value), (), timestamp) for value in (values or ("v",)) * count]
    return bytes(
        build_batch(
            rows,
            compression=COMPRESSION_IDS[compression],
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=sequence,
            **options,
        )
    )


def put(data: bytes, position: int, new: str) -> bytes:
    """A batch with bytes, in hexadecimal, put over it, and the right checksum."""
    result = bytearray(spoil(data, position, new))
    result[17:21] = struct.pack(">I", crc32c(bytes(result[21:])))
    return bytes(result)


def spoil(data: bytes, position: int, new: str) -> bytes:
    result = bytearray(data)
    result[position : position + len(new) // 2] = bytes.fromhex(new)
    return bytes(result)


def behind(data: bytes, more: str) -> bytes:
    """A batch with bytes, in hexadecimal, behind its records."""
    longer = data + bytes.fromhex(more)
    return put(longer, 8, struct.pack(">i", len(longer) - 12).hex())


def framed(compression: str, *values: str) -> bytes:
    """One batch whose records are compressed one by one."""
    codec = COMPRESSION_IDS[compression]
    whole, one = batch(*values), len(batch(values[0])) - HEADER_SIZE
    area = whole[HEADER_SIZE:]
    frames = [compress(codec, area[start : start + one]) for start in range(0, len(area), one)]
    return behind(put(whole[:HEADER_SIZE], 21, f"{codec:04x}"), b"".join(frames).hex())


def summed(value: str, checksum: str) -> bytes:
    """One batch in a frame of lz4 with this checksum of its content, in hexadecimal; with the right one if empty."""
    whole = batch(value)
    area, descriptor = whole[HEADER_SIZE:], bytes([0x64, 0x40])  # blocks stand alone, and the content has a checksum
    head = bytes.fromhex("04224d18") + descriptor + bytes([xxh32_intdigest(descriptor) >> 8 & 255])
    block = (len(area) | 1 << 31).to_bytes(4, "little") + area  # as it is
    end = bytes(4) + (bytes.fromhex(checksum) or xxh32_intdigest(area).to_bytes(4, "little"))
    return behind(put(whole[:HEADER_SIZE], 21, f"{COMPRESSION_IDS['lz4']:04x}"), (head + block + end).hex())


def message(magic: int, value: str = "v") -> bytes:
    """A message set of one message, in format 0 or 1."""
    stamp = struct.pack(">q", NOW) if magic else b""
    body = bytes([magic, 0]) + stamp + struct.pack(">ii", -1, len(value)) + value.encode()
    whole = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(whole)) + whole


def subscription(*topics: str) -> bytes:
    """Version 0, without user data. Kafka reads it, and never answers a JoinGroup with one that it cannot read."""
    named = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + named + struct.pack(">i", -1)


_WORDS = {
    "batch": batch,
    "put": put,
    "spoil": spoil,
    "behind": behind,
    "framed": framed,
    "summed": summed,
    "message": message,
    "subscription": subscription,
    "NOW": NOW,
}


def evaluate(expression: str, names: Names) -> Any:
    """The bytes, or the text, that `{…}` stands for."""
    inside = names.in_expression(expression.removeprefix("{").removesuffix("}"))
    return eval(inside, {"__builtins__": {}}, _WORDS | exchanges.words(names.signatures))


def rows(data: bytes, names: Names) -> list[Node]:
    """The batches of an answer; of a cut one at the end, how many bytes of it came."""
    found: list[Node] = []
    position = 0
    while position < len(data):
        rest = len(data) - position
        if rest < HEADER_SIZE or parse_header(data, position).size_in_bytes > rest:
            return [*found, Node({"cut": str(rest)})]
        header = parse_header(data, position)
        found.append(Node(_described(header, data[position : position + header.size_in_bytes], names)))
        position += header.size_in_bytes
    return found


def _described(header: BatchHeader, data: bytes, names: Names) -> dict[str, str]:
    last = header.base_offset + header.last_offset_delta
    fields = {"offsets": f"{header.base_offset}-{last}"}
    if header.compression:
        fields["compression"] = COMPRESSION_NAMES[header.compression]
    if header.timestamp_type:
        fields["timestamps"] = "LogAppendTime"
    if header.has_producer_id:
        fields["producer_id"] = names.word("producer_id", header.producer_id) or str(header.producer_id)
        fields["epoch"] = str(header.producer_epoch)
        fields["sequence"] = str(header.base_sequence)
    if header.is_control:
        fields["marker"] = _marker(data)
    elif header.is_transactional:
        fields["transactional"] = "true"
    return fields


def _marker(data: bytes) -> str:
    marker = read_marker(data)
    return "another" if marker is None else "COMMIT" if marker.commit else "ABORT"


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
