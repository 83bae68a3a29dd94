"""How a request goes through its guard and its handler: at once if it names little, else with the guard in slices.

The handler is called between two jobs of slices, and not within one, since it may wait for a minute (JoinGroup) and
would block others meanwhile.

Invariant: a guard's steps are run once, since the audit log records them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.api.guards.guard import Guard, Guarding
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.storage.steps import Steps

Handle: TypeAlias = Callable[[Any, RequestContext], Reply[Any]]
_Ask: TypeAlias = Callable[[Any], Reply[Any]]
_Outcome: TypeAlias = tuple[bool, Any]
"""Whether the second value is the answer, or else the request for the handler; and that value."""

AT_ONCE_STEPS: Final = 300
"""A request of at most so many steps runs at once: a millisecond or two."""
GUARDING: Final = WorkClass(may_begin_again=False)


def guarded_handler(guard: Guard, handle: Handle, request: Any, context: RequestContext) -> Reply[Any]:
    """Return the answer of the handler behind the guard."""
    rights = context.rights
    assert rights is not None
    as_current_request = keep_current_request(context.services)

    def ask(wanted: Any) -> Reply[Any]:
        return as_current_request(partial(handle, wanted, context))

    return _go_on(guard(request, context, rights), ask, context, None)


def _go_on(guarding: Guarding, ask: _Ask, context: RequestContext, response: Any) -> Reply[Any]:
    return reply_to(partial(_until_it_asks, guarding, context, response), partial(_answer, guarding, ask, context))


def _until_it_asks(guarding: Guarding, context: RequestContext, response: Any) -> Reply[_Outcome]:
    steps = _outcome(guarding, response)
    for _ in range(AT_ONCE_STEPS):
        try:
            next(steps)
        except StopIteration as over:
            outcome: _Outcome = over.value
            return outcome
    return context.services.request_scheduler.in_slices(lambda: steps, GUARDING)


def _outcome(guarding: Guarding, response: Any) -> Steps[_Outcome]:
    try:
        wanted = guarding.send(response)
        while wanted is None:
            yield
            wanted = guarding.send(None)
    except StopIteration as over:
        return True, over.value
    return False, wanted


def _answer(guarding: Guarding, ask: _Ask, context: RequestContext, outcome: _Outcome) -> Reply[Any]:
    is_answer, found = outcome
    if is_answer:
        return found
    return reply_to(partial(ask, found), partial(_go_on, guarding, ask, context))
