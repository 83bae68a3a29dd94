"""What a checkpoint says of a query and a batch."""

from pathlib import Path

import pytest

from pyspark_barnabas.commit.ledger import SourceOffset
from pyspark_barnabas.sink.checkpoint import CheckpointUnseen, parse_offsets, read_checkpoint, read_query_id

METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'


def offsets(*sources: str, metadata: str = METADATA) -> str:
    return "\n".join(["v1", metadata, *sources])


def test_topics_are_read_as_the_next_offsets_and_other_sources_are_passed_over() -> None:
    found = parse_offsets(offsets('{"orders":{"1":7,"0":5}}', "-", "17", '{"path":"x","offset":3}', '{"a":{"0":-1}}'))
    assert found.offsets == (SourceOffset("orders", 0, 5), SourceOffset("orders", 1, 7))


def test_sources_may_have_names() -> None:
    found = parse_offsets("\n".join(["v2", METADATA, '0:{"orders":{"0":5}}', "payments:-"]))
    assert found.offsets == (SourceOffset("orders", 0, 5),)


def test_a_partition_that_two_sources_read_has_the_lesser_offset() -> None:
    found = parse_offsets(offsets('{"orders":{"0":5}}', '{"orders":{"0":3}}'))
    assert found.offsets == (SourceOffset("orders", 0, 3),)


def test_the_hash_tells_what_is_read_and_not_when() -> None:
    one = parse_offsets(offsets('{"orders":{"0":5}}'))
    later = parse_offsets(offsets('{"orders":{"0":5}}', metadata='{"batchTimestampMs":1}'))
    assert one.sha256 == later.sha256 != parse_offsets(offsets('{"orders":{"0":6}}')).sha256


@pytest.mark.parametrize("text", ["", "v9\n{}\n-", "v1\n{}", "v1\n{}\n{not json"])
def test_a_file_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(CheckpointUnseen, match="has an unknown format"):
        parse_offsets(text)


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_paths_and_file_uris_are_read(tmp_path: Path, prefix: str) -> None:
    location = tmp_path / "check point"
    (location / "offsets").mkdir(parents=True)
    (location / "offsets" / "3").write_text(offsets('{"orders":{"0":5}}'))
    (location / "metadata").write_text('{"id":"8d3c"}')
    shown = f"{prefix}{location}".replace(" ", "%20" if prefix else " ")
    assert read_checkpoint(shown, 3).offsets == (SourceOffset("orders", 0, 5),)
    assert read_query_id(shown) == "8d3c"


def test_a_checkpoint_out_of_sight_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointUnseen, match="cannot be read where the batch is committed"):
        read_checkpoint(str(tmp_path), 0)
    (tmp_path / "metadata").write_text("{}")
    with pytest.raises(CheckpointUnseen, match="holds no query id"):
        read_query_id(str(tmp_path))
