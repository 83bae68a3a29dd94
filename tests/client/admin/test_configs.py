"""What is asked about resources with configs, also of brokers before ListConfigResources had types."""

import pytest

from barnabas.client.admin.configs import ResourceType, list_resources
from barnabas.client.client import Client
from barnabas.client.errors import UnsupportedByBroker
from barnabas.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from barnabas.protocol.registry import ApiKey
from tests.support.scripted.broker import ScriptedBroker


def answer(*resources: ConfigResource) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(error_code=0, config_resources=list(resources))


METRICS = ConfigResource(resource_name="metrics", resource_type=ResourceType.CLIENT_METRICS)
GROUP = ConfigResource(resource_name="group", resource_type=ResourceType.GROUP)


def test_resources_of_one_type_are_listed() -> None:
    def listed(request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
        wanted = request.resource_types
        return answer(*(each for each in (METRICS, GROUP) if not wanted or each.resource_type in wanted))

    with ScriptedBroker({ApiKey.LIST_CONFIG_RESOURCES: listed}) as broker, Client(broker.address) as client:
        assert list_resources(client, ResourceType.GROUP) == ["group"]
        assert list_resources(client, ResourceType.CLIENT_METRICS) == ["metrics"]


def test_a_broker_without_types_lists_client_metrics_only() -> None:
    script = {ApiKey.LIST_CONFIG_RESOURCES: lambda request: answer(METRICS)}
    with ScriptedBroker(script) as broker, Client(broker.address) as client:
        broker.offered[ApiKey.LIST_CONFIG_RESOURCES] = (0, 0)
        with pytest.raises(UnsupportedByBroker, match="too old"):
            list_resources(client, ResourceType.GROUP)
        assert list_resources(client, ResourceType.CLIENT_METRICS) == ["metrics"]
