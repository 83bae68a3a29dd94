"""The short way to a committed offset's record and back says what the declared messages say, or nothing."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.hot.committed_offset import UsualCommit, read_usual_commit, write_usual_commit
from barnabas.protocol.log_records.group import LegacyOffsetCommitKey, OffsetCommitKey, OffsetCommitValue
from barnabas.protocol.log_records.versioned_messages import decode_key, decode_value, encode_key, encode_value

_NAMES = st.text(max_size=20)
_INT32 = st.integers(-(2**31), 2**31 - 1)
_INT64 = st.integers(-(2**63), 2**63 - 1)
_IDS = st.binary(min_size=16, max_size=16).filter(any)
_COMMITS = st.builds(UsualCommit, _NAMES, _NAMES, _INT32, _INT64, _INT32, _INT64, _IDS)


def _declared(commit: UsualCommit, metadata: str = "", version: int = 4) -> tuple[bytes, bytes]:
    key = OffsetCommitKey(group=commit.group, topic=commit.topic, partition=commit.partition)
    value = OffsetCommitValue(
        offset=commit.offset,
        leader_epoch=commit.leader_epoch,
        metadata=metadata,
        commit_timestamp=commit.commit_timestamp,
        topic_id=commit.topic_id,
    )
    return encode_key(key), encode_value(value, version)


@given(_COMMITS)
def test_it_is_written_and_read_as_the_messages_are(commit: UsualCommit) -> None:
    assert write_usual_commit(commit) == _declared(commit)
    assert read_usual_commit(*_declared(commit)) == commit


@given(_COMMITS, st.sampled_from([(0, ""), (1, ""), (3, ""), (4, "m"), (4, "m" * 200)]))
def test_any_other_form_is_left_alone(commit: UsualCommit, form: tuple[int, str]) -> None:
    version, metadata = form
    assert read_usual_commit(*_declared(commit, metadata, version)) is None
    assert read_usual_commit(_declared(commit)[0], None) is None


@given(_COMMITS, st.integers(0, 200), st.integers(1, 255))
def test_a_changed_byte_is_read_as_the_messages_read_it_or_not_at_all(commit: UsualCommit, at: int, by: int) -> None:
    key, value = _declared(commit)
    both = bytearray(key + value)
    both[at % len(both)] ^= by
    key, value = bytes(both[: len(key)]), bytes(both[len(key) :])
    read = read_usual_commit(key, value)
    if read is not None:
        known = {0: LegacyOffsetCommitKey, 1: OffsetCommitKey}
        decoded, stored = decode_key(known, key), decode_value(OffsetCommitValue, value)
        assert isinstance(decoded, OffsetCommitKey)
        assert read[:3] == (decoded.group, decoded.topic, decoded.partition)
        assert read[3:] == (stored.offset, stored.leader_epoch, stored.commit_timestamp, stored.topic_id)


@given(_COMMITS, st.integers(0, 100))
def test_a_cut_record_is_not_read(commit: UsualCommit, size: int) -> None:
    key, value = _declared(commit)
    assert read_usual_commit(key[: size % len(key)], value) is None
    assert read_usual_commit(key, value[: size % len(value)]) is None


def test_names_that_do_not_fit_are_not_written() -> None:
    commit = UsualCommit("g", "t", 0, 1, 2, 3, b"\x01" * 16)
    assert write_usual_commit(commit._replace(group="\u00e9" * 16_384)) is None
    assert write_usual_commit(commit._replace(topic="t" * 32_768)) is None
    longest = commit._replace(group="g" * 32_767)
    written = write_usual_commit(longest)
    assert written is not None
    assert read_usual_commit(*written) == longest
