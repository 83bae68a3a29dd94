"""ListConfigResources: topics and brokers, and what has settings in the directory of an Apache Kafka."""

import pytest

from barnabas.broker.metadata.image.framing import Versioned
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.log_records.catalogue import ConfigRecord
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.support.worlds.catalogue_api import CatalogueApi

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture
def api() -> CatalogueApi:
    api = CatalogueApi(topics={"t": 1})
    api.services.catalogue.create_topic("configured", 1, {"retention.ms": "5"})
    api.services.catalogue.create_internal_topic("__consumer_offsets")
    return api


TOPICS = [("t", TOPIC), ("configured", TOPIC), ("__consumer_offsets", TOPIC)]


def listed(api: CatalogueApi, *types: int, version: int | None = None) -> list[tuple[str, int]]:
    answer = api.ask(ListConfigResourcesRequest(resource_types=list(types)), version)
    assert answer.error_code == ErrorCode.NONE
    return [(each.resource_name, each.resource_type) for each in answer.config_resources]


def configure(api: CatalogueApi, kind: int, name: str, value: str | None) -> None:
    """As Apache Kafka's controller would have."""
    record = ConfigRecord(resource_type=kind, resource_name=name, name="some.key", value=value)
    api.services.catalogue._image.replay(Versioned(record).record, 1)  # no API of this broker's writes it


def test_no_type_requested_means_all_that_the_version_knows(api: CatalogueApi) -> None:
    assert listed(api) == [("1", LOGGER), ("1", BROKER), *TOPICS]
    assert listed(api, version=0) == []


def test_groups_and_client_metrics_are_listed_while_they_have_settings(api: CatalogueApi) -> None:
    for kind, name in ((GROUP, "g"), (METRICS, "m"), (GROUP, "gone")):
        configure(api, kind, name, "5")
    configure(api, GROUP, "gone", None)
    assert listed(api, METRICS, GROUP) == [("g", GROUP), ("m", METRICS)]
    assert listed(api, version=0) == [("m", METRICS)]
