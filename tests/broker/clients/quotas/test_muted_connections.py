"""Connections that are muted: until their time is over, until all are let go, or until they are gone."""

from barnabas.broker.clients.quotas.muted_connections import MutedConnections
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import settle


async def test_a_timeout_follows_the_clock() -> None:
    clock = VirtualClock()
    muting = MutedConnections(clock)
    over = muting.mute(1000)
    clock.advance(999)
    assert not over.done()
    clock.advance(1)
    assert over.done()
    await settle()
    assert len(muting) == 0


async def test_a_departed_member_holds_no_timer() -> None:
    clock = VirtualClock()
    muting = MutedConnections(clock)
    muting.mute(1000).cancel()
    await settle()
    assert (len(muting), clock.pending_timers()) == (0, 0)


async def test_a_node_that_stops_lets_all_go_and_mutes_again_when_it_is_back() -> None:
    clock = VirtualClock()
    muting = MutedConnections(clock)
    before = muting.mute(1000)
    muting.close()
    assert before.done()
    assert muting.mute(1000).done()
    muting.open()
    assert not muting.mute(1000).done()
    await settle()
    assert clock.pending_timers() == 1
