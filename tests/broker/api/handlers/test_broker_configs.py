"""DescribeConfigs of a broker: its id, its addresses and directories, as Apache Kafka 4.4.0 tells them."""

from typing import Any

import pytest

from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.support.worlds.catalogue_api import CatalogueApi

BROKER = 4


def described(settings: dict[str, str]) -> Any:
    resource = DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None)
    (result,) = CatalogueApi(settings).ask(DescribeConfigsRequest(resources=[resource])).results
    return result.configs


@pytest.mark.parametrize("given", ["node.id", "broker.id"])
def test_the_nodes_id_is_reported_under_both_its_names(given: str) -> None:
    told = {entry.name: entry for entry in described({given: "1"})}
    for name in ("node.id", "broker.id"):
        assert (told[name].value, told[name].config_source, told[name].read_only) == ("1", 4, True), name


def test_addresses_and_directories_are_reported_as_they_were_given_and_no_others() -> None:
    given = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": "/d", "node.id": "1"}
    told = {entry.name: (entry.value, entry.config_source) for entry in described(given)}
    assert {name: told[name] for name in given} == {name: (value, 4) for name, value in given.items()}
    assert told["advertised.listeners"] == (None, 5), "Kafka tells it only where it was set, too"


def test_an_internal_key_is_reported_only_where_it_was_given_a_value() -> None:
    key = "producer.id.expiration.check.interval.ms"
    assert key not in {entry.name for entry in described({})}
    assert [entry.value for entry in described({key: "5"}) if entry.name == key] == ["5"]
