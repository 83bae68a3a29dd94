"""What is here is answered at once, and what is not in the turn it comes: errors likewise."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.partitions.purgatory import DelayedOperation, Purgatory
from barnabas.broker.runtime.replies import answer_after, reply_to, reply_to_all
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import settle

REFUSAL = KafkaError(ErrorCode.NOT_COORDINATOR)


def respond(reply: Any) -> str:
    return f"got {reply}"


def refused(refusal: KafkaError) -> str:
    return refusal.code.name


def future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


def raising(error: Exception) -> Any:
    raise error


async def test_available_records_are_answered_at_once() -> None:
    assert reply_to(lambda: 1, respond) == "got 1"
    assert reply_to(lambda: raising(REFUSAL), respond, refused) == "NOT_COORDINATOR"
    assert reply_to_all([1, 2], respond, lambda refusal: 0) == "got [1, 2]"
    assert reply_to_all([], respond, lambda refusal: 0) == "got []"


async def test_later_requests_get_the_same_answer() -> None:
    first, second = future(), future()
    answers = reply_to(lambda: first, respond, refused), reply_to(lambda: second, respond, refused)
    first.set_result(1)
    second.set_exception(REFUSAL)
    assert [await each for each in answers if isinstance(each, asyncio.Future)] == ["got 1", "NOT_COORDINATOR"]


async def test_all_are_waited_for_and_stay_in_their_order() -> None:
    first, second = future(), future()
    whole = reply_to_all([first, 2, second], respond, lambda refusal: refusal.code.name)
    assert isinstance(whole, asyncio.Future)
    second.set_result(3)
    await settle()
    assert not whole.done()
    first.set_exception(REFUSAL)
    assert await whole == "got ['NOT_COORDINATOR', 2, 3]"


async def test_replies_that_have_come_are_waited_for_no_more() -> None:
    first, second = future(), future()
    first.set_result(1)
    second.set_exception(REFUSAL)
    assert reply_to_all([first, 2, second], respond, refused) == "got [1, 2, 'NOT_COORDINATOR']"


async def test_one_of_many_replies_fails_in_a_way_that_is_no_answer() -> None:
    first, second = future(), future()
    whole = reply_to_all([first, second], respond, refused)
    assert isinstance(whole, asyncio.Future)
    second.set_exception(ValueError("no"))
    await settle()
    assert not whole.done()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await whole
    with pytest.raises(ValueError, match="no"):
        reply_to_all([1, second], respond, refused)


async def test_an_answer_to_all_may_come_later_or_not_be_wanted_any_more() -> None:
    first, second, later = future(), future(), future()
    whole = reply_to_all([first], lambda results: later, refused)
    unwanted = reply_to_all([first, second], respond, refused)
    assert isinstance(whole, asyncio.Future)
    assert isinstance(unwanted, asyncio.Future)
    unwanted.cancel()
    first.set_result(1)
    second.set_exception(REFUSAL)
    await settle()
    assert not whole.done()
    later.set_result(2)
    assert await whole == 2
    assert unwanted.cancelled()


@pytest.mark.parametrize("error", [REFUSAL, ValueError("no")])
async def test_an_error_that_nobody_has_an_answer_for_comes_out_as_it_is(error: Exception) -> None:
    with pytest.raises(type(error)):
        reply_to(lambda: raising(error), respond)
    asked = future()
    answered = reply_to(lambda: asked, respond)
    asked.set_exception(error)
    assert isinstance(answered, asyncio.Future)
    with pytest.raises(type(error)):
        await answered


async def test_our_own_mistake_in_an_answer_is_reported() -> None:
    asked = future()
    answered = reply_to(lambda: asked, lambda _: 1 / 0)
    asked.set_result(1)
    assert isinstance(answered, asyncio.Future)
    with pytest.raises(ZeroDivisionError):
        await answered


async def test_an_answer_may_have_to_be_waited_for_itself() -> None:
    asked, second = future(), future()
    answered = reply_to(lambda: asked, lambda _: reply_to(lambda: second, respond, refused))
    asked.set_result(None)
    await settle()
    second.set_result(7)
    assert isinstance(answered, asyncio.Future)
    assert await answered == "got 7"


async def test_a_disconnect_does_not_cancel_the_requested_work() -> None:
    asked = future()
    answered = reply_to(lambda: asked, respond)
    assert isinstance(answered, asyncio.Future)
    answered.cancel()
    await settle()
    assert not asked.done()
    asked.set_result(1)
    await settle()
    assert answered.cancelled()


async def test_cancelled_work_fails_its_waiters() -> None:
    asked = future()
    answered = reply_to(lambda: asked, respond)
    asked.cancel()
    await settle()
    assert isinstance(answered, asyncio.Future)
    assert answered.cancelled()


async def test_a_read_that_waits_is_given_up_with_its_caller() -> None:
    first, called = future(), list[int]()
    answered = answer_after(first, lambda: called.append(1))
    assert isinstance(answered, asyncio.Future)
    answered.cancel()
    await settle()
    assert (first.cancelled(), called) == (True, [])


async def test_so_is_what_it_waits_for_next() -> None:
    first, second = future(), future()
    answered = answer_after(first, lambda: second)
    assert isinstance(answered, asyncio.Future)
    first.set_result(None)
    await settle()
    answered.cancel()
    await settle()
    assert second.cancelled()


async def test_a_parked_request_is_waited_for_and_given_up_likewise() -> None:
    purgatory = Purgatory(VirtualClock(), asyncio.get_running_loop())

    def park() -> DelayedOperation[str]:
        return purgatory.park([("t", 0)], timeout_ms=60_000, is_ready=lambda _: True, finish=lambda _: "read")

    first = future()
    woken, abandoned = answer_after(first, park), answer_after(first, park)
    assert isinstance(woken, asyncio.Future)
    assert isinstance(abandoned, asyncio.Future)
    first.set_result(None)
    await settle()
    assert len(purgatory) == 2
    abandoned.cancel()
    await settle()
    assert len(purgatory) == 1
    purgatory.wake("t", 0)
    assert await woken == "read"


async def test_without_anything_to_wait_for_it_is_read_at_once() -> None:
    assert answer_after(None, lambda: "read") == "read"


async def test_an_error_before_or_in_a_read_fails_it() -> None:
    first, second = future(), future()
    late = answer_after(first, lambda: "read"), answer_after(second, lambda: raising(REFUSAL))
    first.set_exception(REFUSAL)
    second.set_result(None)
    for each in late:
        assert isinstance(each, asyncio.Future)
        with pytest.raises(KafkaError):
            await each
