"""Checkpoints, properties and JSON files: as Kafka writes them, tolerant of nothing that would be a guess."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import checkpoints, meta_properties, properties, quorum_state
from barnabas.protocol.files.meta_properties import MetaProperties
from barnabas.protocol.files.quorum_state import QuorumState
from barnabas.protocol.primitives import ZERO_UUID, uuid_bytes

TOPIC_ID = uuid_bytes("AAAAAAAAAAAAAAAAAAAAAQ")

topics = st.text("abzAZ09._-", min_size=1, max_size=20)
int64 = st.integers(0, 2**63 - 1)


@given(st.dictionaries(st.tuples(topics, st.integers(0, 2**31 - 1)), int64, max_size=8))
def test_offset_checkpoints_round_trip(offsets: dict[tuple[str, int], int]) -> None:
    assert checkpoints.decode_offsets(checkpoints.encode_offsets(offsets)) == offsets


def test_an_offset_checkpoint_looks_like_kafkas() -> None:
    assert checkpoints.encode_offsets({("t", 1): 7, ("t", 0): 5}) == b"0\n3\nt 0 5\nt 1 7\n!crc32c 0 161295798\n"
    assert checkpoints.encode_offsets({}) == b"0\n0\n"
    assert checkpoints.decode_offsets(b"0\n2\nt 0 5\nt 1 7\n") == {("t", 0): 5, ("t", 1): 7}


def test_no_bit_of_an_offset_checkpoint_changes_an_offset_unseen() -> None:
    offsets = {("t", 0): 5, ("t", 1): 70}
    data = checkpoints.encode_offsets(offsets)
    for position in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[position] ^= 1 << bit
            with suppress(DecodeError):  # the only error that is allowed
                found = checkpoints.decode_offsets(bytes(flipped))
                assert {key: found.get(key) for key in offsets} == offsets


def test_the_empty_file_of_an_idle_cleaner_is_an_empty_checkpoint() -> None:
    assert checkpoints.decode_offsets(b"") == {}


def test_leader_epochs_round_trip_and_look_like_kafkas() -> None:
    data = checkpoints.encode_leader_epochs([(0, 0), (3, 0), (4, 120)])
    assert data == b"0\n3\n0 0\n3 0\n4 120\n"
    assert checkpoints.decode_leader_epochs(data) == [(0, 0), (3, 0), (4, 120)]


def test_partition_metadata_round_trips_and_looks_like_kafkas() -> None:
    data = checkpoints.encode_partition_metadata(TOPIC_ID)
    assert data == b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"
    assert checkpoints.decode_partition_metadata(data) == TOPIC_ID
    assert checkpoints.decode_partition_metadata(data.rstrip()) == TOPIC_ID


def test_the_clean_shutdown_marker_looks_like_kafkas() -> None:
    assert checkpoints.encode_clean_shutdown(17) == b'{"version":0,"brokerEpoch":17}'


def test_meta_properties_of_kafka_are_read() -> None:
    data = (
        b"#\n#Fri Nov 20 10:00:00 UTC 2026\ncluster.id=4L6g3nShT-eMCtK--X86sw\nversion=1\n"
        b"directory.id=QdTLzBXFcgjcbWpnvZzaGQ\nnode.id=1\n"
    )
    assert meta_properties.decode(data) == MetaProperties(
        "4L6g3nShT-eMCtK--X86sw", 1, uuid_bytes("QdTLzBXFcgjcbWpnvZzaGQ")
    )


@pytest.mark.parametrize("directory_id", [None, bytes(range(16))])
def test_meta_properties_round_trip(directory_id: bytes | None) -> None:
    meta = MetaProperties("a cluster: #1", 3, directory_id)
    assert meta_properties.decode(meta_properties.encode(meta)) == meta


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "version 0"),
        (b"broker.id=1\ncluster.id=c\n", "version 0"),
        (b"version=2\n", "version 2"),
        (b"version=1\nnode.id=1\n", "no cluster.id"),
        (b"version=1\ncluster.id=c\n", "no node.id"),
        (b"version=1\ncluster.id=c\nnode.id=one\n", "is not a number"),
        (b"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=short\n", "directory.id"),
        (b"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAA\n", "reserved"),
        (b"\xff", "not a properties file"),
    ],
)
def test_meta_properties_that_say_too_little_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        meta_properties.decode(data)


def test_properties_follow_the_java_rules() -> None:
    text = (
        b"# comment\n! comment\n\n  a = 1 \nb:2\nc 3\nd\ne=\nf=x\\\n   y\\\n\tz\ng\\ h=i\\=j\r\nk=\\u0041\\n\\q\\\\\n"
        b"listeners=PLAINTEXT://:9092\na.b=first\na.b=last\nend=cut\\"
    )
    assert properties.decode(text) == {
        "a": "1 ",
        "b": "2",
        "c": "3",
        "d": "",
        "e": "",
        "f": "xyz",
        "g h": "i=j",
        "k": "A\nq\\",
        "listeners": "PLAINTEXT://:9092",
        "a.b": "last",
        "end": "cut",
    }


@pytest.mark.parametrize(
    ("data", "read"),
    [  # as tests/oracle/test_texts_are_javas.py asks Java
        (b"\xe9=\xc3\xa9", {"\xe9": "\xc3\xa9"}),
        (rb"a=\ud83d\ude00\u00e9", {"a": "\U0001f600\xe9"}),
        (rb"a=\\users\\\u0041", {"a": r"\users\A"}),
        (b"\\", {"": ""}),
        (b"\\\n", {"": ""}),
        (b"\\\n ", {}),
        (b"\\\r\n", {}),
        (b"\\\n#c\nd=e", {"d": "e"}),
        (b"a=b\\\n#c\n", {"a": "b#c"}),
        (b"a=b\\\n\nc=d", {"a": "b", "c": "d"}),
    ],
)
def test_corners_of_properties_are_javas(data: bytes, read: dict[str, str]) -> None:
    assert properties.decode(data) == read


@pytest.mark.parametrize(
    "text", [r"C:\users", r"\u00e", r"\u00\u0041", r"\u", r"\ud83d", r"\ude00\ud83d", r"x\\\uzzzz"]
)
def test_lines_that_java_cannot_read_are_refused_with_their_number(text: str) -> None:
    for line in (f"k={text}", f"{text}=v"):
        with pytest.raises(DecodeError, match=r"^line 3: (a \\u is not|half of)"):
            properties.decode(f"a=b\n\n{line}".encode())


words = st.text(st.characters(codec="utf-8", exclude_characters="\x0b\x1c\x1d\x1e\x85\u2028\u2029"), max_size=12)


@given(st.dictionaries(words.filter(bool), words, max_size=5))
def test_properties_round_trip(values: dict[str, str]) -> None:
    assert properties.decode_utf8(properties.encode(values)) == values
    lines = [f"{number}={properties.ascii_value(value)}\n" for number, value in enumerate(values.values())]
    assert [*properties.decode("".join(lines).encode("ascii")).values()] == [*values.values()]


def test_quorum_state_looks_like_kafkas_in_both_versions() -> None:
    one = QuorumState(leader_id=1, leader_epoch=1)
    assert quorum_state.encode(one) == (
        b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )
    zero = QuorumState(leader_id=1, leader_epoch=2, data_version=0, voters=(1, 2))
    assert quorum_state.encode(zero) == (
        b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
    )
    assert one.voted_directory_id == ZERO_UUID
    for state in (one, zero, zero._replace(voters=None)):
        assert quorum_state.decode(quorum_state.encode(state)) == state


ONE = quorum_state.encode(QuorumState(1, 1))
ZERO = quorum_state.encode(QuorumState(1, 1, data_version=0, voters=(1,)))
METADATA = [b"", b"version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", b"version: 0\n", b"version: 0\ntopic_id: x", b"\xff"]
EPOCHS = [b"0\n2\n3 0\n3 5\n", b"0\n2\n3 9\n4 5\n", b"0\n1\n3\n"]
QUORUM_STATES = [
    *(b"", b"[]", b"{}", b'{"data_version":2}', b'{"data_version":1,"leaderId":1}', b"[" * 100_000, b"\xff"),
    ONE.replace(b'"leaderId":1', b'"leaderId":"1"'),
    ONE.replace(b'"leaderEpoch":1', b'"leaderEpoch":1e999'),
    ONE.replace(b"AAAA", b"A"),
    ONE.replace(b'"votedId":-1', b'"votedId":-1,"appliedOffset":0'),
    ZERO.replace(b'[{"voterId":1}]', b"7"),
    ZERO.replace(b'[{"voterId":1}]', b"[7]"),
    ZERO.replace(b'{"voterId":1}', b'{"voterId":null}'),
]
OFFSETS = [b"1\n0\n", b"0\n", b"0\n1\n", b"0\nx\n", b"0\n-1\n", b"0\n1\nt 0\n", b"0\n1\nt 0 5 6\n", b"0\n1\nt zero 5\n"]
OFFSETS += [b"0\n1\nt 0 5\nt 1 6\n", b"0\n1\nt 0 " + b"9" * 5000, b"\xff\n0\n"]


@pytest.mark.parametrize(
    ("decode", "data"),
    [
        *((checkpoints.decode_offsets, data) for data in OFFSETS),
        *((checkpoints.decode_leader_epochs, data) for data in EPOCHS),
        *((checkpoints.decode_partition_metadata, data) for data in METADATA),
        *((quorum_state.decode, data) for data in QUORUM_STATES),
    ],
    ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else value.__name__,
)
def test_malformed_input_is_refused(decode: Callable[[bytes], object], data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode(data)
