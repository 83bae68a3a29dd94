"""The interception of requests by faults: the entries of the APIs that they name, wrapped, and nothing else.

Each time the live faults change, every node's dispatcher gets a new wrap, and drops the entries it wrapped before. An
entry that no live fault may match stays unwrapped: while nothing is armed, requests have no overhead.

All faults that match a request count it; the first of them that fires takes effect, and no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.api.deferred_response import Answer
from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.matching import NOTHING, fits, matches_body
from barnabas.broker.control.faults.model import RequestMatch
from barnabas.broker.control.faults.on_requests.actions import Actions
from barnabas.broker.control.faults.on_requests.matched_request import MatchedRequest
from barnabas.broker.control.faults.on_requests.request_names import names_in_request
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.api.frame_handler import FrameHandler, RequestConnection, Wrap
    from barnabas.broker.control.faults.registry import FaultRegistry
    from barnabas.broker.services import Services


class Intercepted(Protocol):
    """A node whose requests may be intercepted: `broker/server/nodes/broker_node.py`."""

    services: Services

    @property
    def node_id(self) -> int: ...

    def intercept(self, wrap: Wrap | None) -> None:
        """See `Dispatcher.intercept`."""


class RequestFaults:
    """The request faults of one broker, for all its nodes."""

    def __init__(self, registry: FaultRegistry, nodes: Sequence[Intercepted], actions: Actions) -> None:
        self._registry = registry
        self._nodes = nodes
        self._actions = actions
        registry.listen(self._wrap_again)

    def _wrap_again(self) -> None:
        live = [each for each in self._registry.live if isinstance(each.fault.match, RequestMatch)]
        for node in self._nodes:
            here = [each for each in live if _of(each).node in (None, node.node_id)]
            node.intercept(self._wrap(here, node.services) if here else None)

    def _wrap(self, live: Sequence[Armed], services: Services) -> Wrap:
        def wrap(api_key: int, version: int, entry: FrameHandler) -> FrameHandler:
            api = ApiKey(api_key)
            matched = [each for each in live if _may_match(_of(each), api, version)]
            return _Faulty(api, version, entry, matched, services, self._actions).serve if matched else entry

        return wrap


def _of(armed: Armed) -> RequestMatch:
    match = armed.fault.match
    assert isinstance(match, RequestMatch)
    return match


def _may_match(match: RequestMatch, api: ApiKey, version: int) -> bool:
    if match.api is not None and match.api is not api:
        return False
    return match.versions is None or match.versions[0] <= version <= match.versions[1]


class _Faulty:
    """One version of an API that live faults may match."""

    def __init__(
        self,
        api: ApiKey,
        version: int,
        entry: FrameHandler,
        armed: Sequence[Armed],
        services: Services,
        actions: Actions,
    ) -> None:
        self._api, self._version, self._entry = api, version, entry
        self._armed = armed
        self._services = services
        self._actions = actions
        self._looks_inside = any(_of(each).looks_inside for each in armed)

    def serve(self, frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
        """Serve a request as a `FrameHandler` does."""
        names = NOTHING
        if self._looks_inside:
            names = names_in_request(self._services, self._api, self._version, frame, position)
        firing: Armed | None = None
        for each in self._armed:
            if each.is_live and _matches_outside(_of(each), client) and matches_body(_of(each), names):
                if firing is not None:
                    each.chances.matched += 1
                elif each.chances.fires():
                    firing = each
        if firing is None:
            return self._entry(frame, position, correlation_id, client)
        known = names if self._looks_inside else None
        matched = MatchedRequest(
            self._api, self._version, self._entry, self._services, position, correlation_id, client, known
        )
        return self._actions.do(firing, matched, frame)


def _matches_outside(match: RequestMatch, client: RequestConnection) -> bool:
    """Return whether the client and its connection match."""
    return (
        fits(match.client_id, client.client_id or "")
        and fits(match.listener, client.session.listener)
        and fits(match.connection, client.peer)
    )
