"""Metrics of share groups: what is in flight, and how deliveries ended."""

from typing import Any

import pytest

from barnabas.broker.api.stages.metering import Meter
from barnabas.broker.http.metrics import share_groups
from barnabas.broker.http.metrics.scrape import read_all
from barnabas.broker.http.metrics.sources import Sources
from barnabas.broker.server.broker import RUNNING
from tests.support.worlds.share_world import ShareWorld

ACCEPT, RELEASE, REJECT, RENEW, GAP = 1, 2, 3, 4, 0
KAFKAS = "kafka_server_sharepartitionmetrics_"
PLACE = {"group": "g", "topic": "t", "partition": "0"}


def scraped(world: ShareWorld) -> dict[str, list[tuple[dict[str, str], Any]]]:
    """The values by metric, each with its labels."""
    steps = read_all(Sources(world.services, Meter(lambda: 0), lambda: {1: 0}, lambda: RUNNING))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return dict(end.value.values)


def by(found: list[tuple[dict[str, str], Any]], label: str) -> dict[str, Any]:
    return {labels[label]: value for labels, value in found}


async def test_share_partitions_have_what_is_in_flight_and_their_lag() -> None:
    world = ShareWorld()
    world.append("t", b"a", b"b")
    world.append("t", b"c", b"d")
    member = world.member()
    await member.fetch(batch_size=2)
    world.append("t", b"e")
    await member.acknowledge((1, 1, [ACCEPT]))
    found = scraped(world)
    assert found[f"{KAFKAS}inflightmessagecount"] == [(PLACE, 4)]
    assert found[f"{KAFKAS}inflightbatchcount"] == [(PLACE, 2)]
    assert found[f"{KAFKAS}acquisitionlocktimeout_total"] == [(PLACE, 0)]
    assert found["barnabas_share_partition_acquired"] == [(PLACE, 3)]
    assert found["barnabas_share_partition_lag"] == [(PLACE, 4)]
    assert found["kafka_server_sharesessioncache_sharesessionscount"] == [({}, 1)]
    assert found["kafka_server_sharesessioncache_sharepartitionscount"] == [({}, 1)]
    await world.advance(30_000)
    assert scraped(world)[f"{KAFKAS}acquisitionlocktimeout_total"] == [(PLACE, 3)]


async def test_acknowledgements_and_archived_records_are_counted() -> None:
    world = ShareWorld()
    world.configure("share.delivery.count.limit", "2")
    world.append("t", *(b"x" for _ in range(10)))
    member = world.member()
    await member.fetch()
    await member.acknowledge((0, 9, [ACCEPT, ACCEPT, REJECT, RENEW, RELEASE, GAP, *[ACCEPT] * 4]), is_renew_ack=True)
    await member.acknowledge((3, 3, [RELEASE]))
    await member.fetch()
    await member.acknowledge((3, 4, [RELEASE]))
    found = scraped(world)
    acknowledged = found["kafka_server_sharegroupmetrics_recordacknowledgements_total"]
    assert by(acknowledged, "ackType") == {"Accept": 6, "Release": 4, "Reject": 1, "Renew": 1}
    assert by(found["barnabas_share_records_archived_total"], "reason") == {"rejected": 1, "limit": 2}


async def test_dead_letters_are_counted_by_group() -> None:
    world = ShareWorld()
    world.configure("errors.deadletterqueue.topic.name", "dlq.jobs")
    world.append("t", b"a", b"b", b"c")
    member = world.member()
    await member.fetch()
    await member.acknowledge((0, 1, [REJECT]))
    await world.settle()
    lost = scraped(world)
    assert lost["barnabas_share_dead_letters_lost_total"] == [({"group": "g"}, 2)]
    world.services.catalogue.create_topic("dlq.jobs", 1, {"errors.deadletterqueue.group.enable": "true"})
    await member.acknowledge((2, 2, [REJECT]))
    await world.settle()
    found = scraped(world)
    kafkas = "kafka_server_sharegroupmetrics_deadletterqueue"
    assert found[f"{kafkas}recordcount"] == [({"group": "g"}, 1)]
    assert found[f"{kafkas}totalproducerequests_total"] == [({"group": "g"}, 1)]
    assert found[f"{kafkas}failedproducerequests_total"] == [({"group": "g"}, 0)]
    assert found["barnabas_share_dead_letters_lost_total"] == [({"group": "g"}, 2)]


async def test_share_partitions_beyond_the_limit_have_no_series(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_groups, "SHARE_PARTITIONS_MAX", 1)
    world = ShareWorld(partitions=3)
    await world.member().fetch(0, 1, 2)
    found = scraped(world)
    assert found["barnabas_share_partition_acquired"] == [(PLACE, 0)]
    assert by(found["barnabas_metrics_left_out"], "what")["share partitions"] == 2
