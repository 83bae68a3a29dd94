"""Decisions in slices: what is left of one that is over."""

import asyncio
import gc
import weakref
from contextlib import suppress

import pytest

from barnabas.broker.coordinator.runtime.decision_queue import Decision, DecisionQueue
from barnabas.broker.runtime.scheduler import CooperativeScheduler
from barnabas.protocol.errors import ErrorCode, KafkaError


class Asker:
    """Who holds what a refusal must not keep: a connection, in the broker."""

    def refused(self) -> Decision[None]:
        yield
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)


@pytest.mark.pure  # the compiled form keeps no frames
async def test_a_refusal_after_a_pause_blocks_no_other_request() -> None:
    decisions = DecisionQueue(CooperativeScheduler(asyncio.get_running_loop(), lambda: 0.0))
    asker = Asker()
    is_gone = weakref.ref(asker)
    gc.disable()
    try:
        _ask(decisions, asker)
        del asker
        assert is_gone() is None
    finally:
        gc.enable()


def _ask(decisions: DecisionQueue, asker: Asker) -> None:
    """The frame of this call is in the refusal's traceback."""
    with suppress(KafkaError):  # only the reference to this frame matters
        decisions.made("group", asker.refused)
