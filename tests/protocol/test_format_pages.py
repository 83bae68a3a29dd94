"""The worked bytes of docs/formats are those that the code writes and reads."""

import re
from pathlib import Path

import pytest

from barnabas.protocol.files import offset_index, producer_snapshot, time_index, txn_index
from barnabas.protocol.files.producer_snapshot import ProducerEntry
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import parse_header, verify_crc
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import end_txn_marker
from barnabas.protocol.records.record import iter_records
from barnabas.protocol.records.record_rows import row_pieces
from barnabas.protocol.records.rewriting import Rewriting, empty_batch

FORMATS = Path(__file__).resolve().parents[2] / "docs" / "formats"
T = 1_700_000_000_000

DATA = [NewRecord(b"k1", b"v1", [("h", b"x")], T), NewRecord(None, None, (), T + 5)]
BATCH = build_batch(
    DATA, base_offset=100, leader_epoch=9, producer_id=4000, producer_epoch=3, base_sequence=7, transactional=True
)
TOMBSTONE = build_batch(
    [DATA[0], NewRecord(b"k2", None, (), T + 5)],
    base_offset=100,
    leader_epoch=9,
    producer_id=4000,
    producer_epoch=3,
    base_sequence=7,
    transactional=True,
)
PRODUCER = ProducerEntry(4000, 3, 8, 101, 1, T + 5, -1, 100)


def blocks(page: str) -> list[str]:
    """The code blocks of a page."""
    return re.findall(r"^```\n(.*?)^```", (FORMATS / page).read_text(), re.MULTILINE | re.DOTALL)


def bytes_in(block: str) -> bytes:
    """The bytes a block shows: hex, with words behind a #."""
    return bytes.fromhex(" ".join(line.partition("#")[0] for line in block.splitlines()))


def second_record_of(batch: bytes, delete_horizon_ms: int) -> bytearray:
    header = parse_header(batch)
    rewriting = Rewriting(header, delete_horizon_ms)
    for piece in row_pieces(batch, header):
        assert piece is not None
        buffer, rows = piece
        offset, timestamp, _, _, tail, end = rows[1]
        rewriting.add(offset, timestamp, buffer[tail:end])
    return rewriting.seal()[1]


@pytest.mark.parametrize(
    ("page", "block", "data"),
    [
        ("record-batch.md", 0, BATCH),
        ("record-batch.md", 1, end_txn_marker(True, 4000, 3, 12, T + 50, base_offset=102, leader_epoch=9)),
        ("record-batch.md", 2, second_record_of(bytes(TOMBSTONE), T + 7 + 86_400_000)),
        ("record-batch.md", 3, empty_batch(parse_header(BATCH))),
        ("index-files.md", 0, offset_index.encode([(45, 4200), (91, 8391)])),
        ("index-files.md", 1, time_index.encode([(T + 45, 45), (T + 91, 91)])),
        ("index-files.md", 2, txn_index.encode([AbortedTxn(4000, 100, 102, 103)])),
        ("index-files.md", 3, producer_snapshot.encode([PRODUCER])),
    ],
)
def test_a_page_shows_the_bytes_the_code_writes(page: str, block: int, data: bytes) -> None:
    assert bytes_in(blocks(page)[block]) == data


def test_the_batch_on_the_page_is_sound() -> None:
    batch = bytes_in(blocks("record-batch.md")[0])
    assert verify_crc(batch)
    assert len(list(iter_records(batch))) == 2
