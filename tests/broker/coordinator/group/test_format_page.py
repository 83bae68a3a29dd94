"""docs/formats/consumer-offsets.md says what the code does, byte for byte."""

from pathlib import Path

import pytest

from barnabas.broker.coordinator.group.classic.model import (
    CommittedOffset,
    GroupRecord,
    GroupStored,
    OffsetCommitted,
    StoredGroup,
    StoredMember,
)
from barnabas.broker.coordinator.group.records import decode, encode

_PAGE = Path(__file__).parents[4] / "docs" / "formats" / "consumer-offsets.md"
_NOW_MS = 1_700_000_000_000
_MEMBER = StoredMember("m", None, "c", "/127.0.0.1", 60_000, 10_000, b"s", b"a")
_OFFSET = CommittedOffset(42, 5, "", _NOW_MS)
_AS_KAFKA_4_0 = "the same as Kafka 4.0 writes it"

_MEANT: dict[str, GroupRecord] = {
    "offset 42, leader epoch 5": OffsetCommitted("g", "t", 0, _OFFSET),
    _AS_KAFKA_4_0: OffsetCommitted("g", "t", 0, _OFFSET),
    "the same with topic id 0x01 × 16": OffsetCommitted("g", "t", 0, _OFFSET._replace(topic_id=b"\1" * 16)),
    "offset 42, metadata `m`, expires a millisecond later": OffsetCommitted(
        "g", "t", 0, CommittedOffset(42, -1, "m", _NOW_MS, _NOW_MS + 1)
    ),
    "the commit deleted": OffsetCommitted("g", "t", 0, None),
    "empty group, just made": GroupStored("g", StoredGroup("", 0, None, None, _NOW_MS)),
    "generation 1, `range`, one member `m`": GroupStored(
        "g", StoredGroup("consumer", 1, "range", "m", _NOW_MS, (_MEMBER,))
    ),
    "the group deleted": GroupStored("g", None),
}


def _rows() -> dict[str, tuple[bytes, bytes | None]]:
    worked = _PAGE.read_text().split("## Worked bytes")[1]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in worked.splitlines() if line.startswith("|")]
    return {
        what: (bytes.fromhex(key.strip("`")), None if value == "null" else bytes.fromhex(value.strip("`")))
        for what, key, value in rows[2:]
    }


def test_the_page_shows_every_kind_of_record() -> None:
    assert list(_rows()) == list(_MEANT)


@pytest.mark.parametrize("what", _MEANT)
def test_the_bytes_of_the_page_are_those_of_the_code(what: str) -> None:
    key, value = _rows()[what]
    assert decode(key, value) == _MEANT[what]
    if what != _AS_KAFKA_4_0:
        assert encode(_MEANT[what]) == (key, value)
