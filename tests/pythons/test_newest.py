"""The newest Python, for which some packages have no wheels yet: everything runs but regular expressions, which are
refused in one sentence.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from barnabas.broker.runtime.patterns import MISSING
from barnabas.client.client import Client
from barnabas.client.consume.consumer import ConsumedRecord
from barnabas.client.consume.consumer_membership import ConsumerProtocol
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.produce.producer import Producer
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.compression import COMPRESSION_IDS
from tests.compat.serializers.schemas import SCHEMAS
from tests.support.ports import unused_port
from tests.support.processes.own_broker import OwnBroker

TOPIC = "every-codec"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnBroker]:
    with OwnBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture
def client(broker: OwnBroker) -> Iterator[Client]:
    with Client(broker.address) as connected:
        yield connected


def test_nothing_is_installed_that_needs_a_compiler_here() -> None:
    assert [name for name in ("lz4", "re2", "zstandard") if find_spec(name) is not None] == []
    assert find_spec("uvloop") is not None


@pytest.mark.parametrize("protocol", [None, ConsumerProtocol()], ids=["classic", "consumer"])
def test_a_group_reads_what_every_codec_wrote(client: Client, protocol: ConsumerProtocol | None) -> None:
    name = f"{TOPIC}-{protocol is None}"
    written = {}
    for codec in COMPRESSION_IDS:
        written[codec.encode()] = value = codec.encode() * 40_000
        with Producer(client, compression=codec) as producer:
            producer.send(name, value, key=codec.encode())
    with GroupConsumer(client, name, [name], protocol=protocol, auto_offset_reset="earliest") as member:
        found: list[ConsumedRecord] = []
        while len(found) < len(written):
            found += member.poll(500)
    assert {each.record.key: each.record.value for each in found} == written


def test_a_subscription_by_a_regular_expression_is_refused_in_one_sentence(client: Client, broker: OwnBroker) -> None:
    with (
        GroupConsumer(client, "patterns", [], protocol=ConsumerProtocol(regex="every.*")) as member,
        pytest.raises(KafkaError, match=MISSING) as refused,
    ):
        member.poll(5_000)
    assert refused.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert broker.log.count(MISSING) == 1  # at the start


def _asked(registry: httpx.Client, path: str) -> dict[str, list[int]]:
    """Return by language the statuses of what it answers for each version of a schema."""
    return {
        language: [
            registry.post(f"/subjects/{language}{path}", json={"schemaType": language, "schema": schema}).status_code
            for schema in versions
        ]
        for language, versions in SCHEMAS.items()
    }


def test_a_registry_knows_after_a_kill_what_it_registered_and_refused(tmp_path: Path) -> None:
    port = unused_port()
    with (
        OwnBroker(tmp_path, flags=(f"--registry={port}",)) as broker,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as registry,
    ):
        assert _asked(registry, "/versions") == {language: [200, 200, 409] for language in SCHEMAS}
        broker.kill()
        broker.start()
        assert _asked(registry, "") == {language: [200, 200, 404] for language in SCHEMAS}
