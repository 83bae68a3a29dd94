"""Waiting until all that is under way now has ended."""

import asyncio

from barnabas.broker.runtime.in_flight import InFlight


async def test_only_current_requests_are_waited_for() -> None:
    going_on = {"a", "b"}
    part = InFlight(asyncio.get_running_loop(), lambda: going_on)
    ended = part.all_ended()
    assert ended is not None
    going_on.add("c")
    part.ended("a")
    part.ended("a")
    part.ended("nothing")
    assert not ended.done()
    part.ended("b")
    assert ended.done()


async def test_nothing_under_way_is_nothing_to_wait_for() -> None:
    part = InFlight(asyncio.get_running_loop(), list)
    assert part.all_ended() is None
    part.ended("whatever")


async def test_a_part_that_is_given_up_lets_all_go_who_wait() -> None:
    part = InFlight(asyncio.get_running_loop(), lambda: ["a", "b"])
    first, second = part.all_ended(), part.all_ended()
    assert first is not None
    assert second is not None
    second.cancel()
    part.every_one_ended()
    assert first.done()
