"""ListGroups (key 16), v0-5: every group there is, by state and type if asked.

All partitions of `__consumer_offsets` have to be loaded for it; while one still is, COORDINATOR_LOAD_IN_PROGRESS is the
whole answer. One that cannot be is left out, as in Kafka. A group that only commits offsets has no protocol type.
Versions: 3 flexible, 4 states, 5 types.
"""

from __future__ import annotations

from broker.context import RequestContext
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

_CLASSIC = "classic"


def handle(request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    listed = [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type,
            group_state=group.state.value,
            group_type=_CLASSIC,
        )
        for group in context.services.groups.groups()
        if not states or group.state.value.lower() in states
    ]
    return ListGroupsResponse(error_code=0, groups=listed if not types or _CLASSIC in types else [])
