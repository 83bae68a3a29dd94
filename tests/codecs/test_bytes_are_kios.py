"""Every request and response in every version, full of made-up values: the same bytes as kio's, and back again."""

from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from barnabas.protocol import reference
from barnabas.protocol.compile import codec
from barnabas.protocol.registry import ApiKey, spec
from barnabas.protocol.schema import Struct
from tests.support.records.kio_oracle import kio_decode, kio_encode, kio_entity, to_kio
from tests.support.records.messages import make

EVERY_MESSAGE_AND_VERSION = [
    pytest.param(message, version, id=f"{message.__name__}-v{version}")
    for key in ApiKey
    for message in (spec(key).request, spec(key).response)
    for version in range(key.min_version, key.max_version + 1)
]


@pytest.mark.parametrize(("struct", "version"), EVERY_MESSAGE_AND_VERSION)
@settings(
    derandomize=True,
    database=None,
    max_examples=30,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(rng=st.randoms(use_true_random=False))
def test_bytes_equal_kios_and_round_trip(struct: type[Struct], version: int, rng: Random) -> None:
    message = make(struct, version, rng)
    encoded = codec(struct, version).encode(message)
    entity = to_kio(message, version, kio_entity(struct, version))
    assert encoded == kio_encode(entity)
    assert kio_decode(type(entity), encoded) == entity
    assert encoded == reference.encode(message, version)
    assert codec(struct, version).decode(encoded) == (message, len(encoded))
    assert reference.decode(struct, version, encoded) == (message, len(encoded))
