"""Records and bytes a second, on the pages of topics and on the first one."""

import re

import pytest

from barnabas.broker.api.stages.metering import Meter
from barnabas.broker.http.console.formatting import rate
from barnabas.broker.http.console.traffic import STALE_S, TopicRates, Traffic, TrafficRates
from barnabas.storage.steps import finish
from tests.support.console.world import Console
from tests.support.inspected_broker import Inspected


@pytest.fixture
async def world() -> Inspected:
    return Inspected(topics={"busy": 2, "quiet": 1})


def looked_at(traffic: Traffic) -> TrafficRates:
    found = finish(traffic.rates())
    assert found is not None
    return found


async def test_rates_are_of_the_last_seconds(world: Inspected) -> None:
    meter = Meter(lambda: 0)
    traffic = Traffic(world.services, meter, world.machine_clock)
    assert finish(traffic.rates()) is None
    batch = len(world.batch(b"1", b"2"))
    for second in range(1, 31):
        world.append("busy", b"1", b"2", partition=second % 2)
        meter.bytes_read["busy"] += 300
        world.machine_clock.advance(1_000)
        found = looked_at(traffic)
        assert found.of("busy") == found.total == TopicRates(2, batch, 300)
        assert found.of("quiet") == TopicRates()
    world.machine_clock.advance(10_000)
    assert looked_at(traffic).total.records_in < 2
    world.machine_clock.advance(10_000)
    assert looked_at(traffic) == TrafficRates(TopicRates(), {})


async def test_several_that_look_share_a_reading(world: Inspected) -> None:
    traffic = Traffic(world.services, Meter(lambda: 0), world.machine_clock)
    assert finish(traffic.rates()) is None
    world.machine_clock.advance(1_000)
    before = looked_at(traffic)
    world.append("busy", b"1")
    world.machine_clock.advance(400)
    assert looked_at(traffic) is before
    world.machine_clock.advance(600)
    assert looked_at(traffic).total.records_in == 0.5


async def test_after_a_break_there_is_nothing_to_compare_with(world: Inspected) -> None:
    traffic = Traffic(world.services, Meter(lambda: 0), world.machine_clock)
    finish(traffic.rates())
    world.append("busy", b"1")
    world.machine_clock.advance(STALE_S * 1_000 + 1)
    assert finish(traffic.rates()) is None
    world.machine_clock.advance(1_000)
    assert looked_at(traffic).total == TopicRates()


async def test_a_topic_that_was_deleted_counts_no_longer(world: Inspected) -> None:
    meter = Meter(lambda: 0)
    traffic = Traffic(world.services, meter, world.machine_clock)
    world.append("busy", b"1")
    meter.bytes_read["busy"] += 100
    finish(traffic.rates())
    world.services.catalogue.delete_topics(["busy"])
    world.machine_clock.advance(1_000)
    assert looked_at(traffic) == TrafficRates(TopicRates(), {})


async def test_the_pages_show_them(console: Console, world: Inspected) -> None:
    assert "quiet 1 0 0 B – – – –" in await console.text("/topics")
    assert "– records in – bytes in – bytes out" in in_order(await console.get(""))
    world.append("busy", b"1", b"2", b"3")
    console.meter.bytes_read["busy"] += 5_000
    world.machine_clock.advance(2_000)
    text = await console.text("/topics", sort="-records_in")
    assert "1.5/s" in text
    assert "2.5 kB/s" in text
    assert text.index("busy 2") < text.index("quiet 1")
    assert "1.5/s records in" in in_order(await console.get(""))


def in_order(html: str) -> str:
    """The figures of the page, each before its name, as they are seen."""
    pairs = re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", html)
    return " ".join(f"{value} {name}" for name, value in pairs)


def test_small_rates_have_a_digit_more() -> None:
    assert [rate(value) for value in (0.0, 0.44, 9.96, 12.4, 1234.5)] == ["0", "0.4", "10.0", "12", "1\u202f234"]
