"""Whatever clients push is answered, and a scrape after it is one that Prometheus reads, with no more than is kept."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.broker.api.stages.metering import Meter
from barnabas.broker.clients.telemetry.series import SERIES_MAX
from barnabas.broker.http.metrics.scrape import scrape
from barnabas.broker.http.metrics.sources import Sources
from barnabas.broker.server.broker import RUNNING
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest
from barnabas.protocol.primitives import ZERO_UUID
from tests.support.fuzz.offered import SETTINGS
from tests.support.fuzz.pushes import pushed
from tests.support.worlds.broker import BrokerWorld, until

CLIENTS = 60
ROUNDS_LONG = 50


async def _ask(world: BrokerWorld, request: Request) -> Any:
    """An answer to a client that stays, as do its series."""
    peer = world.connect()
    peer.ask(request, 0)
    await until(lambda: not peer.connection.is_busy)
    return peer.answer()


async def _push_and_scrape(rng: Random) -> Counter[ErrorCode]:
    world = BrokerWorld(SETTINGS)
    answered: Counter[ErrorCode] = Counter()
    for _ in range(CLIENTS):
        mine = await _ask(world, GetTelemetrySubscriptionsRequest(client_instance_id=ZERO_UUID))
        compression = rng.choice((0, 1, 2, 3, 4))
        request = PushTelemetryRequest(
            client_instance_id=mine.client_instance_id,
            subscription_id=mine.subscription_id,
            terminating=False,
            compression_type=compression,
            metrics=pushed(compression, rng),
        )
        answered[ErrorCode((await _ask(world, request)).error_code)] += 1
    text = await scrape(Sources(world.services, Meter(lambda: 0), lambda: {1: 1}, lambda: RUNNING))
    samples = [sample for family in text_string_to_metric_families(text.decode()) for sample in family.samples]
    of_clients = [sample for sample in samples if sample.name.startswith("barnabas_client_")]
    assert 0 < len(of_clients) <= SERIES_MAX
    assert all("client_instance_id" in sample.labels for sample in of_clients)
    assert len({(sample.name, frozenset(sample.labels.items())) for sample in of_clients}) == len(of_clients)
    await world.close()
    return answered


async def test_a_scrape_after_hostile_pushes_is_one_that_prometheus_reads(seed: int) -> None:
    answered = await _push_and_scrape(Random(f"{seed} pushes"))
    assert answered[ErrorCode.NONE] > CLIENTS // 10
    assert answered.keys() <= {ErrorCode.NONE, ErrorCode.INVALID_RECORD, ErrorCode.TELEMETRY_TOO_LARGE}


@pytest.mark.long
async def test_so_are_fifty_of_them(seed: int) -> None:
    for number in range(ROUNDS_LONG):
        await _push_and_scrape(Random(f"{seed} pushes {number}"))
