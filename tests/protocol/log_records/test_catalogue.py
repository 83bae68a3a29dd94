"""Records of the catalogue in their frame: worked bytes, and every fault Kafka's reader stops at."""

import pytest

from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.log_records.catalogue import (
    RECORDS,
    ConfigRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    TopicRecord,
    decode_record,
    encode_record,
)

TOPIC_ID = bytes.fromhex("425e73d6d7edd38daeae9f10721987e3")
DIRECTORY_ID = bytes(range(16))

STOPPED_PARTITION = PartitionRecord(
    partition_id=0,
    topic_id=TOPIC_ID,
    replicas=[1],
    isr=[],
    removing_replicas=[],
    adding_replicas=[],
    leader=-1,
    leader_epoch=3,
    partition_epoch=3,
    directories=[DIRECTORY_ID],
    eligible_leader_replicas=[1],
    last_known_elr=[1],
)
ELECTED = PartitionChangeRecord(
    partition_id=0, topic_id=TOPIC_ID, isr=[1], leader=1, eligible_leader_replicas=[], last_known_elr=[]
)
WORKED = [
    (NoOpRecord(), 0, "01140000"),
    (TopicRecord(name="bt", topic_id=TOPIC_ID), 0, f"010200 036274 {TOPIC_ID.hex()} 00"),
    (ProducerIdsRecord(broker_id=-1, next_producer_id=5000), 0, "010f00 ffffffff ffffffffffffffff 0000000000001388 00"),
    (
        ConfigRecord(resource_type=2, resource_name="bt", name="retention.ms", value="-1"),
        0,
        f"010400 02 036274 0d{b'retention.ms'.hex()} 032d31 00",
    ),
    (
        STOPPED_PARTITION,
        2,
        f"010302 00000000 {TOPIC_ID.hex()} 0200000001 01 01 01 ffffffff 00000003 00000003 02 {DIRECTORY_ID.hex()}"
        " 02 01050200000001 02050200000001",
    ),
    (ELECTED, 2, f"010502 00000000 {TOPIC_ID.hex()} 04 00050200000001 010400000001 060101 070101"),
]


@pytest.mark.parametrize(("record", "version", "data"), WORKED, ids=lambda value: type(value).__name__)
def test_records_have_kafkas_bytes(record: Stored, version: int, data: str) -> None:
    assert encode_record(record, version) == bytes.fromhex(data)
    assert decode_record(bytes.fromhex(data)) == (record, version)


def test_there_are_27_records_and_three_unused_keys() -> None:
    keys = [record.__schema__.key for record in RECORDS]
    assert len(set(keys)) == len(keys) == 27
    assert set(range(30)) - set(keys) == {6, 13, 16}


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("", "varint"),
        ("00140000", "frame version 0"),
        ("02140000", "frame version 2"),
        ("011e0000", "key 30"),
        ("01140100", "NoOpRecord has no version 1"),
        ("0114000000", "1 bytes are left over"),
        ("011400", "NoOpRecord v0"),
        ("010200 036274", "TopicRecord v0"),
    ],
)
def test_values_unreadable_for_kafka_are_refused(data: str, what: str) -> None:
    with pytest.raises(DecodeError, match=what):
        decode_record(bytes.fromhex(data))


def test_tags_of_a_newer_release_are_written_again_in_order() -> None:
    record = TopicRecord(name="bt", topic_id=TOPIC_ID, unknown_tags=((77, b"new"), (5, b"")))
    encoded = encode_record(record, 0)
    assert decode_record(encoded)[0] == TopicRecord(name="bt", topic_id=TOPIC_ID, unknown_tags=((5, b""), (77, b"new")))
    assert encode_record(*decode_record(encoded)) == encoded
