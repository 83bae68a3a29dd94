"""ListGroups (key 16), v0-5: every group, with optional filters by state and type.

All partitions of `__consumer_offsets` have to be loaded for it; while one is still loading, the whole answer is
COORDINATOR_LOAD_IN_PROGRESS. One that cannot be loaded is left out, as in Kafka. A group that only commits offsets has
no protocol type. Versions: 3 flexible, 4 states, 5 types.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.coordinator.group.decisions.group_types import type_of
from barnabas.broker.coordinator.runtime.replies_after_sync import once_synced
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from barnabas.storage.steps import Steps

SLICE = 1_000
"""The number of groups (some 3 us each) that are checked before other requests run."""
_ALL_GROUPS = WorkClass(steps_max=SLICE, slice_ms=5)


def handle(request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse | Future[ListGroupsResponse]:
    return reply_to(
        lambda: context.services.request_scheduler.in_slices(lambda: _list_all(request, context), _ALL_GROUPS),
        lambda response: once_synced(response, context.services.groups.unsynced()),
    )


def _list_all(request: ListGroupsRequest, context: RequestContext) -> Steps[ListGroupsResponse]:
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    listed = []
    for group in context.services.groups.each_group():
        kind = type_of(group)
        if (not states or group.state.value.lower() in states) and (not types or kind in types):
            listed.append(
                ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type,
                    group_state=group.state.value,
                    group_type=kind,
                )
            )
        yield
    return ListGroupsResponse(error_code=0, groups=listed)
