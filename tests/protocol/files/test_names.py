"""Names of files and directories: what is made is understood, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.files.names import (
    DirectoryState,
    FileKind,
    FileState,
    MetadataSnapshot,
    PartitionDirectory,
    SegmentFile,
    is_topic_name,
    parse_metadata_snapshot,
    parse_partition_directory,
    parse_segment_file,
    partition_directory,
    segment_file,
)

offsets = st.integers(0, 2**63 - 1)
topics = st.text("abzAZ09._-", min_size=1, max_size=249).filter(lambda name: name not in (".", ".."))


@given(offsets, st.sampled_from(FileKind), st.sampled_from(FileState))
def test_segment_files_are_understood_as_they_were_named(base: int, kind: FileKind, state: FileState) -> None:
    name = segment_file(base, kind, state)
    assert parse_segment_file(name) == SegmentFile(base, kind, state)
    assert SegmentFile(base, kind, state).name == name


def test_segment_files_are_named_as_kafka_names_them() -> None:
    assert segment_file(0, FileKind.LOG) == "00000000000000000000.log"
    assert segment_file(42, FileKind.TIME_INDEX, FileState.SWAP) == "00000000000000000042.timeindex.swap"


@pytest.mark.parametrize(
    "name",
    [
        *("", "0.log", "x.log", "leader-epoch-checkpoint", "partition.metadata", "000000000000000000000.log"),
        *(f"{0:020d}{rest}" for rest in ("", ".logs", ".log.tmp", "-1.checkpoint")),
    ],
)
def test_other_files_are_no_segments(name: str) -> None:
    assert parse_segment_file(name) is None


@given(topics, st.integers(0, 2**31 - 1))
def test_partition_directories_are_understood_as_they_were_named(topic: str, partition: int) -> None:
    name = partition_directory(topic, partition)
    assert parse_partition_directory(name) == PartitionDirectory(topic, partition)
    assert PartitionDirectory(topic, partition).name == name


def test_the_partition_is_behind_the_last_dash() -> None:
    assert parse_partition_directory("a-1-b-22") == PartitionDirectory("a-1-b", 22)


@pytest.mark.parametrize("state", [state for state in DirectoryState if state is not DirectoryState.LIVE])
def test_a_directory_on_its_way_out_reports_it(state: DirectoryState) -> None:
    directory = PartitionDirectory("my-topic", 3, state, "0123456789abcdef" * 2)
    assert directory.name == f"my-topic-3.0123456789abcdef0123456789abcdef-{state.value}"
    assert parse_partition_directory(directory.name) == directory


def test_the_topic_of_a_directory_on_its_way_out_is_cut_to_what_file_systems_allow() -> None:
    name = PartitionDirectory("t" * 249, 12, DirectoryState.DELETE, "f" * 32).name
    assert len(name) == 255
    assert name.endswith(f"t-12.{'f' * 32}-delete")
    assert parse_partition_directory(name) is not None


@pytest.mark.parametrize(
    "name",
    ["", "topic", "topic-", "-1", "topic-x", "topic--", "a b-1", "..-1", "t-1.ab-delete", f"t-1.{'0' * 32}-gone"],
)
def test_other_directories_hold_no_partition(name: str) -> None:
    assert parse_partition_directory(name) is None


def test_metadata_snapshots_are_understood_as_they_were_named() -> None:
    assert MetadataSnapshot(0, 0).name == "00000000000000000000-0000000000.checkpoint"
    assert parse_metadata_snapshot("00000000000000000077-0000000003.checkpoint") == MetadataSnapshot(77, 3)
    assert parse_metadata_snapshot("00000000000000000077-0000000003.checkpoint.deleted") is None


def test_topic_names_follow_kafkas_rules() -> None:
    assert is_topic_name("a")
    assert is_topic_name("A.b_c-9")
    assert is_topic_name("x" * 249)
    assert not any(is_topic_name(name) for name in ("", ".", "..", "x" * 250, "a b", "ä", "a/b", "a\n"))
