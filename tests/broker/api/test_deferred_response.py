"""What becomes of a request that waits when its peer leaves: said where it is parked, not guessed from its future."""

import asyncio
import gc
from typing import Any

import pytest

from barnabas.broker.api.deferred_response import Answer, DeferredResponse
from tests.support.worlds.broker import settle


def unanswered(_: Any) -> Answer:
    raise AssertionError("the peer is gone")


def signalled(_: DeferredResponse) -> None:
    raise AssertionError("the peer is gone")


async def the_same(future: asyncio.Future[None]) -> None:
    await future


async def abandoned_while_waiting(*, is_task: bool, may_be_given_up: bool) -> bool:
    """Whether the waiting was cancelled; what it waited for fails if it was not."""
    work: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waits = asyncio.ensure_future(the_same(work)) if is_task else work
    parked = DeferredResponse(waits, unanswered, may_be_given_up=may_be_given_up)
    parked.when_answered(signalled)
    await settle()
    parked.abandon()
    await settle()
    if not work.done():
        work.set_exception(RuntimeError("nobody is there to hear of it"))
        await settle()
    return waits.cancelled()


@pytest.mark.parametrize("is_task", [True, False])
@pytest.mark.parametrize("may_be_given_up", [True, False])
async def test_only_cancellable_work_is_cancelled_when_the_peer_leaves(is_task: bool, may_be_given_up: bool) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    was_cancelled = await abandoned_while_waiting(is_task=is_task, may_be_given_up=may_be_given_up)
    gc.collect()
    assert was_cancelled == may_be_given_up
    assert complaints == []
