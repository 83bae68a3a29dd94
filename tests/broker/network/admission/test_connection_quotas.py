"""Who may come in, and when: limits of one listener, from one address, and how fast. Over a broker in memory."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.listeners.connection_limits import parsed_overrides
from barnabas.broker.metadata.image.client_quotas import QuotaAlteration
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from tests.support.worlds.broker import BrokerWorld, Peer, settle


def world_of(**settings: str) -> BrokerWorld:
    return BrokerWorld({name.replace("_", "."): value for name, value in settings.items()})


def ask(world: BrokerWorld) -> Peer:
    peer = world.asking(ListGroupsRequest())
    return peer


async def answered(*peers: Peer) -> list[int]:
    await settle()
    return [len(peer.frames()) for peer in peers]


def limit_address(world: BrokerWorld, address: str | None, rate: float | None) -> None:
    wish = QuotaAlteration({"ip": address}, [("connection_creation_rate", rate)])
    ((_, refusal),) = world.services.catalogue.client_quotas.alter([wish], validate_only=False)
    assert refusal is None


async def test_a_further_connection_from_an_address_is_closed_at_once() -> None:
    world = world_of(max_connections_per_ip="2")
    first, second, third = ask(world), ask(world), ask(world)
    assert await answered(first, second, third) == [1, 1, 0]
    assert third.is_closed
    first.transport.hang_up()
    await settle()
    assert await answered(ask(world)) == [1]


async def test_an_address_may_have_a_limit_of_its_own() -> None:
    world = world_of(max_connections_per_ip="5", max_connections_per_ip_overrides="10.0.0.1:9, localhost:1")
    assert await answered(ask(world), ask(world)) == [1, 0]


async def test_a_limit_counts_those_that_were_there_before_it() -> None:
    world = world_of()
    first = ask(world)
    world.config.follow({}, {"max.connections.per.ip": "1"})
    second = ask(world)
    assert await answered(first, second) == [1, 0]
    assert second.is_closed


async def test_a_further_connection_of_a_listener_waits_until_another_is_closed() -> None:
    world = world_of(listener_name_plaintext_max_connections="1")
    first, second, third = ask(world), ask(world), ask(world)
    assert await answered(first, second, third) == [1, 0, 0]
    first.transport.hang_up()
    assert await answered(second, third) == [1, 0]
    second.transport.hang_up()
    assert await answered(third) == [1]


async def test_a_waiter_that_leaves_is_skipped() -> None:
    world = world_of(listener_name_plaintext_max_connections="1")
    first, second, third = ask(world), ask(world), ask(world)
    second.transport.hang_up()
    await settle()
    first.transport.hang_up()
    assert await answered(third) == [1]


@pytest.mark.parametrize(
    "name", ["max_connection_creation_rate", "listener_name_plaintext_max_connection_creation_rate"]
)
async def test_connections_that_come_too_fast_are_let_in_later(name: str) -> None:
    world = world_of(**{name: "1", "quota_window_num": "2"})
    peers = [ask(world) for _ in range(5)]
    assert await answered(*peers) == [1, 0, 0, 0, 0]
    came = 1
    for _ in range(20):
        world.clock.advance(1000)
        now = sum(await answered(*peers))
        assert now <= 1
        came += now
    assert came == 5


async def test_an_address_that_connects_too_often_is_closed_unserved_after_a_while() -> None:
    world = world_of(quota_window_num="2")
    limit_address(world, None, 1.0)
    first, second = ask(world), ask(world)
    assert await answered(first, second) == [1, 0]
    assert not second.is_closed
    world.clock.advance(1000)
    assert await answered(second) == [0]
    assert second.is_closed
    world.clock.advance(5_000)
    assert await answered(ask(world)) == [1]


async def test_the_quota_of_an_address_goes_before_that_of_all() -> None:
    world = world_of(quota_window_num="2")
    limit_address(world, None, 1.0)
    limit_address(world, "127.0.0.1", 1000.0)
    assert await answered(ask(world), ask(world)) == [1, 1]
    limit_address(world, "127.0.0.1", None)
    assert await answered(ask(world)) == [0]


async def test_a_stop_closes_who_waits() -> None:
    world = world_of(listener_name_plaintext_max_connections="1")
    limit_address(world, None, 1000.0)
    first, second = ask(world), ask(world)
    assert await answered(first, second) == [1, 0]
    await world.close()
    assert (first.is_closed, second.is_closed) == (True, True)


async def test_without_limits_nobody_stands_at_the_door() -> None:
    world = world_of(max_connections="5")
    assert await answered(ask(world)) == [1]
    assert world.listener._entrance is None


def test_overrides_are_addresses_and_counts() -> None:
    assert parsed_overrides("") == {}
    assert parsed_overrides("::1:5, 127.0.0.1:7") == {"::1": 5, "127.0.0.1": 7}
    for wrong in ("127.0.0.1", "nowhere.invalid:5", "127.0.0.1:many"):
        with pytest.raises(ValueError, match="ADDRESS:COUNT"):
            parsed_overrides(wrong)


async def test_short_connections_do_not_accumulate_while_others_wait() -> None:
    world = world_of(max_connection_creation_rate="1")
    peers = [ask(world) for _ in range(50)]
    await settle()
    for peer in peers:
        peer.transport.hang_up()
    await settle()
    assert [len(each.queue) for each in world.listener._entrance._waiting.values()] in ([], [0])
    world.clock.advance(60_000)
    assert await answered(ask(world)) == [1]
    assert world.listener._entrance._waiting == {}


# --- what a connection costs -----------------------------------------------------------------------------------------


class CountedQuotas(dict[Any, Any]):
    """Quotas that count how often somebody looks through all of them."""

    count = 0

    def __iter__(self) -> Iterator[Any]:
        self.count += 1
        return super().__iter__()

    def items(self) -> Any:
        self.count += 1
        return super().items()


@pytest.mark.parametrize("has_limits", [False, True])
async def test_all_settings_and_quotas_are_looked_through_when_they_change_and_not_at_each_connection(
    monkeypatch: pytest.MonkeyPatch, *, has_limits: bool
) -> None:
    settings = {"max_connections_per_ip_overrides": "10.0.0.1:9", "max_connection_creation_rate": "1000"}
    world = world_of(**settings if has_limits else {})
    for number in range(50 if has_limits else 0):
        limit_address(world, f"10.1.0.{number}", 5)
    image = world.services.catalogue._image
    image.quotas = quotas = CountedQuotas(image.quotas)
    settings_looked_through: list[BrokerConfig] = []
    layers = BrokerConfig.layers

    def counted(config: BrokerConfig) -> Any:
        settings_looked_through.append(config)
        return layers(config)

    monkeypatch.setattr(BrokerConfig, "layers", counted)
    assert await answered(ask(world)) == [1]
    before = quotas.count, len(settings_looked_through)
    assert before > (0, 0)
    assert await answered(*(ask(world) for _ in range(20))) == [1] * 20
    assert (quotas.count, len(settings_looked_through)) == before
    limit_address(world, "127.0.0.1", 1)
    assert sum(await answered(*(ask(world) for _ in range(20)))) < 20
    assert quotas.count > before[0]
