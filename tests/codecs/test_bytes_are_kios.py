"""Every request and response in every version, full of made-up values: the same bytes as kio's, and back again.

But for what is newer than kio: of that test_java_agrees.py asks Kafka's own classes, and this one that it comes back.
"""

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kio.index import UnknownEntity

from barnabas.protocol.codec import reference
from barnabas.protocol.codec.compile import codec
from barnabas.protocol.codec.schema import Struct
from barnabas.protocol.registry import ApiKey, spec
from tests.support.records.kio_oracle import kio_decode, kio_encode, kio_entity, to_kio
from tests.support.records.messages import make

NEWER_THAN_KIO = {  # which knows Kafka 4.3.1
    (ApiKey.API_VERSIONS, 5),
    (ApiKey.TXN_OFFSET_COMMIT, 6),
    (ApiKey.DELETE_GROUPS, 3),
    (ApiKey.STREAMS_GROUP_HEARTBEAT, 1),
    (ApiKey.STREAMS_GROUP_DESCRIBE, 1),
    (ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, 0),
    (ApiKey.UNREGISTER_CONTROLLER, 0),
}
EVERY_VERSION = [(key, version) for key in ApiKey for version in range(key.min_version, key.max_version + 1)]
made_up = settings(
    derandomize=True,
    database=None,
    max_examples=30,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def messages(versions: Iterable[tuple[ApiKey, int]]) -> pytest.MarkDecorator:
    """Request and response of each."""
    each = [
        pytest.param(message, version, id=f"{message.__name__}-v{version}")
        for key, version in versions
        for message in (spec(key).request, spec(key).response)
    ]
    return pytest.mark.parametrize(("struct", "version"), each)


@messages(each for each in EVERY_VERSION if each not in NEWER_THAN_KIO)
@made_up
@given(rng=st.randoms(use_true_random=False))
def test_bytes_equal_kios(struct: type[Struct], version: int, rng: Random) -> None:
    message = make(struct, version, rng)
    encoded = codec(struct, version).encode(message)
    entity = to_kio(message, version, kio_entity(struct, version))
    assert encoded == kio_encode(entity)
    assert kio_decode(type(entity), encoded) == entity


@messages(EVERY_VERSION)
@made_up
@given(rng=st.randoms(use_true_random=False))
def test_a_message_comes_back_from_its_bytes(struct: type[Struct], version: int, rng: Random) -> None:
    message = make(struct, version, rng)
    encoded = codec(struct, version).encode(message)
    assert encoded == reference.encode(message, version)
    assert codec(struct, version).decode(encoded) == (message, len(encoded))
    assert reference.decode(struct, version, encoded) == (message, len(encoded))


@messages(sorted(NEWER_THAN_KIO))
def test_messages_declared_newer_than_kio_are_newer(struct: type[Struct], version: int) -> None:
    with pytest.raises(UnknownEntity):
        kio_entity(struct, version)
