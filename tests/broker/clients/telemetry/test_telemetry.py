"""Clients push their metrics to a broker that offers it, and a scrape has them while the clients are there."""

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.broker.api.stages.metering import Meter
from barnabas.broker.clients.telemetry import telemetry as limits
from barnabas.broker.http.metrics.scrape import scrape
from barnabas.broker.http.metrics.sources import Sources
from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.broker.metadata.image.image import CLIENT_METRICS_RESOURCE
from barnabas.broker.server.broker import RUNNING
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.records.compression import ZSTD, compress
from tests.support.records import otlp
from tests.support.worlds.broker import BrokerWorld, settle

ON = {"barnabas.client.telemetry.enable": "true"}
DATA = otlp.metrics_data(
    otlp.gauge("org.apache.kafka.producer.queue-time", otlp.point(1.5, **{"node.id": "1", "client_id": "forged"})),
    otlp.sum_of("9.lives", otlp.point(2.0), is_delta=True),
)


class Pushing:
    """A broker that clients push to."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.world = BrokerWorld(ON | (settings or {}))
        self.peer = self.world.connect()

    async def ask(self, request: Any, version: int | None = 0) -> Any:
        self.peer.ask(request, version)
        await settle()
        return self.peer.answer()

    async def subscribe(self, instance_id: bytes = ZERO_UUID) -> Any:
        return await self.ask(GetTelemetrySubscriptionsRequest(client_instance_id=instance_id))

    async def push(self, mine: Any, data: bytes = DATA, *, compression: int = 0, last: bool = False) -> int:
        request = PushTelemetryRequest(
            client_instance_id=mine.client_instance_id,
            subscription_id=mine.subscription_id,
            terminating=last,
            compression_type=compression,
            metrics=data,
        )
        answer = await self.ask(request)
        return int(answer.error_code)

    def want(self, name: str, **configs: str) -> None:
        alterations = [Alteration(key.replace("_", "."), AlterConfigOp.SET, text) for key, text in configs.items()]
        self.world.services.catalogue.alter_configs(CLIENT_METRICS_RESOURCE, name, alterations)

    async def scraped(self) -> str:
        return (await scrape(Sources(self.world.services, Meter(lambda: 0), lambda: {1: 1}, lambda: RUNNING))).decode()

    async def pushed(self) -> list[str]:
        """The series of clients in a scrape."""
        return [each for each in (await self.scraped()).splitlines() if each.startswith("barnabas_client_")]

    async def families(self) -> list[Any]:
        """What Prometheus makes of a scrape."""
        return list(text_string_to_metric_families(await self.scraped()))


async def test_pushed_metrics_are_exposed_with_their_client() -> None:
    pushing = Pushing()
    mine = await pushing.subscribe()
    assert await pushing.push(mine) == ErrorCode.NONE
    assert await pushing.push(mine, compress(ZSTD, DATA), compression=ZSTD, last=True) == ErrorCode.NONE
    names = [line.partition("{")[0] for line in await pushing.pushed()]
    assert names == ["barnabas_client_producer_queue_time", "barnabas_client_9_lives"]
    gauge, delta = await pushing.pushed()
    assert 'node_id="1"' in gauge
    assert 'client_id="forged"' not in gauge
    assert (gauge.split()[-1], delta.split()[-1]) == ("1.5", "4.0")


def histogram_of(is_delta: bool, name: str = "org.apache.kafka.request.latency") -> bytes:
    point = otlp.histogram_point([0.5, 10.0], [1, 0, 4], total=99.5, le="forged", topic="t")
    return otlp.metrics_data(otlp.histogram(name, point, temporality=1 if is_delta else 2))


@pytest.mark.parametrize(("is_delta", "times"), [(True, 2), (False, 1)])
async def test_a_histogram_is_scraped_as_prometheus_has_it(is_delta: bool, times: int) -> None:
    pushing = Pushing()
    mine = await pushing.subscribe()
    for last in (False, True):
        assert await pushing.push(mine, histogram_of(is_delta), last=last) == ErrorCode.NONE
    (family,) = [each for each in await pushing.families() if each.name == "barnabas_client_request_latency"]
    told = [(each.name.removeprefix(family.name), each.labels.get("le"), each.value) for each in family.samples]
    assert family.type == "histogram"
    assert told == [
        ("_bucket", "0.5", 1 * times),
        ("_bucket", "10.0", 1 * times),
        ("_bucket", "+Inf", 5 * times),
        ("_count", None, 5 * times),
        ("_sum", None, 99.5 * times),
    ]
    assert {each.labels["topic"] for each in family.samples} == {"t"}


async def test_kinds_that_meet_under_one_name_make_no_sample_twice() -> None:
    pushing = Pushing()
    labels = {"topic": "t"}
    numbers = [
        otlp.gauge("a.count", otlp.point(7.0, **labels)),
        otlp.gauge("a.bucket", otlp.point(7.0, le="0.5", **labels)),
        otlp.gauge("a", otlp.point(7.0, other="1")),
        otlp.gauge("a.sum", otlp.point(7.0, other="1")),
    ]
    await pushing.push(await pushing.subscribe(), histogram_of(False, "a") + otlp.metrics_data(*numbers))
    samples = [sample for family in await pushing.families() for sample in family.samples]
    mine = [each for each in samples if each.name.startswith("barnabas_client_a")]
    assert len({(each.name, *sorted(each.labels.items())) for each in mine}) == len(mine) == 7


async def test_a_client_that_is_gone_has_no_series() -> None:
    pushing = Pushing()
    await pushing.push(await pushing.subscribe())
    assert len(await pushing.pushed()) == 2
    pushing.peer.connection.connection_lost(None)
    assert await pushing.pushed() == []
    pushing.peer = pushing.world.connect()
    await pushing.push(await pushing.subscribe())
    assert len(await pushing.pushed()) == 2
    pushing.world.clock.advance(3 * 300_000)
    assert await pushing.pushed() == []


async def test_a_client_is_told_by_what_it_said_of_itself() -> None:
    pushing = Pushing()
    pushing.want("named", metrics="a.", match="client_software_name=mine,client_software_version=1\\..*")
    assert (await pushing.subscribe()).requested_metrics == []
    software = ApiVersionsRequest(client_software_name="mine", client_software_version="1.2")
    await pushing.ask(software, 3)
    assert (await pushing.subscribe()).requested_metrics == ["a."]


async def test_of_a_long_client_id_only_the_beginning_is_kept() -> None:
    telemetry = Pushing().world.services.telemetry
    for client_id in ("c" * 30_000, None):
        instance = telemetry.instance(telemetry.new_instance_id(), client_id, "10.0.0.9", None)
        assert instance.attributes["client_id"] == ("c" * limits.ATTRIBUTE_LENGTH_MAX if client_id else None)


async def test_a_changed_subscription_is_reported_at_once_and_has_another_id() -> None:
    pushing = Pushing()
    first = await pushing.subscribe()
    assert (await pushing.subscribe(first.client_instance_id)).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    pushing.want("all", metrics="*", interval_ms="5000")
    assert await pushing.push(first) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    second = await pushing.subscribe(first.client_instance_id)
    assert (second.requested_metrics, second.push_interval_ms) == (["*"], 5_000)
    assert second.subscription_id != first.subscription_id


async def test_growth_beyond_the_maximum_is_refused() -> None:
    pushing = Pushing({"telemetry.max.bytes": "200"})
    large = otlp.metrics_data(otlp.gauge("g", *(otlp.point(1.0) for _ in range(100))))
    mine = await pushing.subscribe()
    assert await pushing.push(mine, compress(ZSTD, large), compression=ZSTD) == ErrorCode.INVALID_RECORD
    assert await pushing.pushed() == []
    assert await pushing.push(await pushing.subscribe(), large) == ErrorCode.TELEMETRY_TOO_LARGE


async def test_only_so_many_clients_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "INSTANCES_MAX", 3)
    pushing = Pushing()
    first = await pushing.subscribe()
    await pushing.push(first)
    for _ in range(5):
        await pushing.subscribe()
    assert len(pushing.world.services.telemetry) == 3
    assert await pushing.pushed() == []


async def test_it_is_offered_only_where_it_is_requested() -> None:
    for settings, is_offered in ((ON, True), ({}, False)):
        world = BrokerWorld(settings)
        offered = {each.api_key for each in world.services.offered_apis}
        assert (71 in offered, 72 in offered) == (is_offered, is_offered)


async def test_a_stored_subscription_that_is_none_is_passed_over() -> None:
    pushing = Pushing()
    pushing.world.services.catalogue._image.configs[(CLIENT_METRICS_RESOURCE, "odd")] = {"match": "color=red"}
    pushing.want("all", metrics="*")
    assert (await pushing.subscribe()).requested_metrics == ["*"]
