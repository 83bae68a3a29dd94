"""What a consumer sees of fetched bytes: whole batches, no control records, no aborted transactions, nothing twice."""

import pytest

from barnabas.client.consume.decoding import Aborted, decode_records
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.batch import encode_batch, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import end_txn_marker


def data(base_offset: int, *values: bytes, producer_id: int = -1, transactional: bool = False) -> bytearray:
    records = [NewRecord(None, value, (), 1000) for value in values]
    return build_batch(records, base_offset=base_offset, producer_id=producer_id, transactional=transactional)


def values(fetched: bytes, position: int = 0, aborted: list[Aborted] | None = None) -> tuple[list[bytes | None], int]:
    decoded = decode_records(fetched, position, aborted)
    return [record.value for record in decoded.records], decoded.next_offset


def test_records_before_the_position_are_not_seen_again() -> None:
    fetched = bytes(data(10, b"a", b"b", b"c") + data(13, b"d"))
    assert values(fetched, 12) == ([b"c", b"d"], 14)
    assert values(fetched, 20) == ([], 20)


@pytest.mark.parametrize(
    ("limit", "expected"), [(1, ([b"b"], 12)), (2, ([b"b", b"c"], 13)), (3, ([b"b", b"c", b"e"], 15))]
)
def test_not_more_records_are_decoded_than_are_wanted(limit: int, expected: tuple[list[bytes], int]) -> None:
    damaged = data(15, b"f")
    damaged[-1] ^= 1
    hidden = data(13, b"d", producer_id=7, transactional=True)
    fetched = bytes(data(10, b"a", b"b", b"c") + hidden + data(14, b"e") + damaged)
    decoded = decode_records(fetched, 11, [Aborted(7, 13)], limit=limit)
    assert ([record.value for record in decoded.records], decoded.next_offset) == expected


def test_fewer_records_than_are_wanted_are_read_to_the_end() -> None:
    fetched = bytes(data(10, b"a") + end_txn_marker(True, 7, 0, 0, 1000, base_offset=11))
    assert decode_records(fetched, 10, limit=2).next_offset == 12


def test_a_batch_cut_at_the_end_is_left_for_the_next_fetch() -> None:
    fetched = bytes(data(10, b"a") + data(11, b"b")[:-1])
    assert values(fetched, 10) == ([b"a"], 11)
    assert values(b"", 7) == ([], 7)


def test_control_batches_only_move_the_position() -> None:
    marker = end_txn_marker(True, 7, 0, 0, 1000, base_offset=11)
    fetched = bytes(data(10, b"a", producer_id=7, transactional=True) + marker)
    assert values(fetched, 10) == ([b"a"], 12)
    assert values(fetched, 10, []) == ([b"a"], 12)


def test_the_records_of_an_aborted_transaction_are_hidden_up_to_its_marker() -> None:
    fetched = bytes(
        data(0, b"plain")
        + data(1, b"aborted", producer_id=7, transactional=True)
        + data(2, b"other", producer_id=8, transactional=True)
        + data(3, b"aborted too", producer_id=7, transactional=True)
        + end_txn_marker(False, 7, 0, 0, 1000, base_offset=4)
        + data(5, b"next", producer_id=7, transactional=True)
        + end_txn_marker(True, 7, 0, 0, 1000, base_offset=6)
    )
    assert values(fetched, 0, [Aborted(7, 1)]) == ([b"plain", b"other", b"next"], 7)
    assert values(fetched, 0, None) == ([b"plain", b"aborted", b"other", b"aborted too", b"next"], 7)
    assert values(fetched, 3, [Aborted(7, 1)]) == ([b"next"], 7), "a fetch in the middle of the transaction"


def test_two_aborted_transactions_of_one_producer_are_told_apart() -> None:
    fetched = bytes(
        data(0, b"first", producer_id=7, transactional=True)
        + end_txn_marker(False, 7, 0, 0, 1000, base_offset=1)
        + data(2, b"committed", producer_id=7, transactional=True)
        + end_txn_marker(True, 7, 0, 0, 1000, base_offset=3)
        + data(4, b"second", producer_id=7, transactional=True)
        + end_txn_marker(False, 7, 0, 0, 1000, base_offset=5)
    )
    assert values(fetched, 0, [Aborted(7, 4), Aborted(7, 0)]) == ([b"committed"], 6)


def test_a_non_transactional_batch_of_the_same_producer_is_not_hidden() -> None:
    assert values(bytes(data(0, b"plain", producer_id=7)), 0, [Aborted(7, 0)]) == ([b"plain"], 1)


def test_damage_is_a_corrupt_message() -> None:
    batch = data(0, b"a")
    batch[-1] ^= 1
    with pytest.raises(KafkaError, match="t-0: the batch at offset 0 has a wrong crc") as caught:
        decode_records(bytes(batch), 0, where="t-0")
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    wrong_count = encode_batch(parse_header(data(0, b"a"))._replace(records_count=5), b"")
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        decode_records(bytes(wrong_count), 0)
