"""What one request comes to where no connection stands in front of what serves it."""

import asyncio
from collections.abc import Callable

from barnabas.broker.api.deferred_response import Answer, CloseConnection, DeferredResponse
from tests.support.worlds.broker import settle


async def answered(serve: Callable[[], Answer]) -> object:
    """The bytes that `serve` answers with, now or later; None for none; (reason, API) where it wants to close."""
    try:
        answer = serve()
        if isinstance(answer, DeferredResponse):
            over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            answer.when_answered(lambda _: over.set_result(None))
            await over
            answer = answer.answer()
    except CloseConnection as close:
        return close.reason, close.api
    await settle()
    assert answer is None or isinstance(answer, bytearray)
    return None if answer is None else bytes(answer)
