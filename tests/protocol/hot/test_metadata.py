"""The partitions of one node are written as their messages are, in every version that has this layout."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.hot.metadata import SINCE, partitions_of_one_node
from barnabas.protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from barnabas.protocol.registry import ApiKey, response_codec

_INT32 = st.integers(-(2**31), 2**31 - 1)
_VERSIONS = range(SINCE, MetadataResponse.__schema__.valid_versions.stop)


def _response(partitions: list[Any]) -> MetadataResponse:
    topics = [MetadataResponseTopic(error_code=0, name=name, partitions=partitions) for name in ("a", "b")]
    return MetadataResponse(brokers=[], topics=topics)


@pytest.mark.parametrize("version", _VERSIONS)
@given(node_id=_INT32, leader_epochs=st.lists(_INT32, max_size=300))
def test_they_are_written_as_messages_are(version: int, node_id: int, leader_epochs: list[int]) -> None:
    codec = response_codec(ApiKey.METADATA, version)
    messages = [
        MetadataResponsePartition(
            error_code=0,
            partition_index=number,
            leader_id=node_id,
            leader_epoch=epoch,
            replica_nodes=[node_id],
            isr_nodes=[node_id],
            offline_replicas=[],
        )
        for number, epoch in enumerate(leader_epochs)
    ]
    written = _response(partitions_of_one_node(node_id, leader_epochs))
    in_steps = bytearray()
    for _ in codec.encode_in_steps(written, in_steps):
        pass
    assert codec.encode(written) == in_steps == codec.encode(_response(messages))


def test_the_version_before_has_another_layout() -> None:
    flexible = {version: response_codec(ApiKey.METADATA, version).flexible for version in (SINCE - 1, SINCE)}
    assert flexible == {SINCE - 1: False, SINCE: True}
    with pytest.raises(AssertionError):
        response_codec(ApiKey.METADATA, SINCE - 1).encode(_response(partitions_of_one_node(1, [0])))
