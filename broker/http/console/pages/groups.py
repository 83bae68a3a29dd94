"""Groups: all of them with their lag, and one with its members and partitions, or what is in flight in a queue."""

from __future__ import annotations

from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import ConsolePage, Facts
from barnabas.broker.http.console.pages import event_history
from barnabas.broker.http.console.params import NOT_FOUND, Refused, RequestParams
from barnabas.broker.http.console.queries import groups as looking
from barnabas.broker.http.console.queries import security
from barnabas.broker.http.console.queries.share_partitions import in_flight
from barnabas.broker.http.console.rendering import url
from barnabas.broker.http.console.sorting import Keys, sorting_of
from barnabas.broker.http.console.svg.delivery_strip import STRIP_WIDTH, drawn_ranges
from barnabas.broker.insight.inspection.groups import begin_loading

_KINDS = {"Stable": "committed", "Empty": "quiet", "Dead": "quiet"}


async def _list(observed: ConsoleContext, params: RequestParams) -> Facts:
    services, needle = observed.services, params.word("q")
    sorting = sorting_of(params, "/groups", _KEYS, q=needle)
    begin_loading(services)
    looked_at = looking.SORTED_MAX if sorting.column else looking.GROUPS_MAX
    groups, count = await observed.in_turns(lambda: looking.every_group(services, needle, looked_at))
    shown = sorting.applied(groups, _KEYS)[: looking.GROUPS_MAX]
    return {"groups": shown, "count": count, "kinds": _KINDS, "needle": needle, "sorting": sorting}


_KEYS: Keys[looking.GroupSeen] = {
    "group": lambda group: group.group_id,
    "state": lambda group: group.state,
    "protocol": lambda group: group.protocol,
    "generation": lambda group: group.generation,
    "members": lambda group: group.members_count,
    "partitions": lambda group: group.partitions_count,
    "lag": lambda group: group.lag.read_uncommitted if group.partitions_count else None,
    "committed_lag": lambda group: group.lag.read_committed if group.partitions_count else None,
}


async def _one(observed: ConsoleContext, params: RequestParams) -> Facts:
    services, group_id = observed.services, params.needed("id")
    begin_loading(services)
    group = looking.find(services, group_id)
    found = None if group is None else await observed.in_turns(lambda: looking.described(services, group))
    if found is None:
        raise Refused(f"there is no group {group_id}", NOT_FOUND)
    seen, members, behind = found
    shared, shared_count = await observed.in_turns(lambda: in_flight(services, group_id))
    readers = {place: member.client_id for member in members for place in member.assigned}
    return {
        "group": seen,
        "members": members,
        "behind": behind,
        "readers": readers,
        "topics": sorted({each.topic for each in behind} | {each.topic for each in shared}),
        "principals": security.principals(observed.members),
        "kinds": _KINDS,
        "shared": [(each, drawn_ranges(each)) for each in shared],
        "shared_count": shared_count,
        "width": int(STRIP_WIDTH),
        "why": await event_history.why(lambda why: why.group(group_id), observed, url("/group", id=group_id)),
    }


PAGES = (ConsolePage("/console/groups", "groups.html", _list), ConsolePage("/console/group", "group.html", _one))
