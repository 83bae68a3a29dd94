"""Faults of requests, read from JSON: what they match, what they do, and whether the API allows both. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from barnabas.broker.control.faults.codes import codes_of, names_of
from barnabas.broker.control.faults.model import Cut, FaultRefused, RequestAction, RequestMatch
from barnabas.broker.control.faults.naming import GROUP, PARTITION, TOPIC, TRANSACTIONAL_ID, named_by
from barnabas.broker.control.faults.plan.names import partition_number, peer_pattern, topic_pattern
from barnabas.broker.control.faults.plan.scalars import (
    delay,
    flag,
    listed,
    object_of,
    one_of,
    shown,
    text,
    typo,
    versions,
    whole_number,
)
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.registry import ApiKey

MATCHES = (
    "api",
    "version",
    "node",
    "listener",
    "connection",
    "client_id",
    TOPIC,
    PARTITION,
    GROUP,
    TRANSACTIONAL_ID,
    "nth",
    "probability",
)
ACTIONS = ("error", "delay", "drop", "lose_answer", "cut", "throttle", "pause")
_ENDS = ("error", "drop", "lose_answer", "cut")
_INSIDE = (TOPIC, PARTITION, GROUP, TRANSACTIONAL_ID)
BYTES_PER_S_MAX = 1 << 40
_NODE_MAX = 0x7FFF_FFFF


def request_fault(
    match: Mapping[str, Any],
    do: Mapping[str, Any],
    apis: Mapping[ApiKey, tuple[int, int]],
    nodes: Collection[int],
    listeners: Collection[str],
) -> tuple[RequestMatch, RequestAction]:
    """Read a fault of requests. Raises FaultRefused."""
    given = object_of(match, "match of a request fault", (*MATCHES, "point", "disk"))
    api = _api(given["api"], apis) if "api" in given else None
    low, high = (0, 0) if api is None else apis[api]
    if "version" in given and api is None:
        raise FaultRefused("a version needs an api: each API has its own versions")
    matches = RequestMatch(
        api=api,
        versions=versions(given["version"], f"version of {given['api']}", low, high) if "version" in given else None,
        node=_node(given["node"], nodes) if "node" in given else None,
        listener=one_of(given["listener"], "listener", tuple(listeners)) if "listener" in given else None,
        connection=peer_pattern(given["connection"]) if "connection" in given else None,
        client_id=text(given["client_id"], "client_id") if "client_id" in given else None,
        topic=topic_pattern(given[TOPIC]) if TOPIC in given else None,
        partition=partition_number(given[PARTITION]) if PARTITION in given else None,
        group=text(given[GROUP], GROUP) if GROUP in given else None,
        transactional_id=text(given[TRANSACTIONAL_ID], TRANSACTIONAL_ID) if TRANSACTIONAL_ID in given else None,
    )
    _check_inside(given, apis, matches)
    return matches, _action(do, api)


def _api(value: Any, apis: Mapping[ApiKey, tuple[int, int]]) -> ApiKey:
    by_name = {api.api_name: api for api in apis}
    return by_name[one_of(value, "api", tuple(by_name))]


def _node(value: Any, nodes: Collection[int]) -> int:
    node = whole_number(value, "node", 0, _NODE_MAX)
    if node not in nodes:
        ids = [str(each) for each in sorted(nodes)]
        there_are = f"there is {ids[0]}" if len(ids) == 1 else f"there are {listed(ids)}"
        raise FaultRefused(f"there is no node {node}, {there_are}")
    return node


def _check_inside(given: Mapping[str, Any], apis: Mapping[ApiKey, tuple[int, int]], match: RequestMatch) -> None:
    """Raise FaultRefused unless the API's requests contain all the names in the match together."""
    wanted = [name for name in _INSIDE if name in given]
    if not wanted:
        return
    if match.api is None:
        if any(named_by(api, range(low, high + 1)).issuperset(wanted) for api, (low, high) in apis.items()):
            return
        raise FaultRefused(f"no request names {listed(wanted)} together")
    low, high = match.versions or apis[match.api]
    named = named_by(match.api, range(low, high + 1))
    for name in wanted:
        if name not in named:
            matched = [each for each in _INSIDE if each in named]
            what = f"only {listed(matched)}" if matched else "nothing that a fault matches"
            raise FaultRefused(f"{match.api.api_name} names no {name}, {what}")


def _action(do: Mapping[str, Any], api: ApiKey | None) -> RequestAction:
    done = object_of(do, "do of a request fault", ACTIONS)
    if not done:
        raise FaultRefused(f"a fault needs an action: do is empty, and takes {listed(ACTIONS)}")
    cut = None
    if "cut" in done:
        cut = Cut(one_of(done["cut"], "cut", tuple(each.value for each in Cut)))
    ends = [name for name in _ENDS if name in done]
    if len(ends) > 1 and not (set(ends) == {"drop", "cut"} and cut is Cut.BEFORE):
        raise FaultRefused(f"{listed(ends)} exclude each other")
    if "delay" in done and "pause" in done:
        raise FaultRefused("delay and pause exclude each other")
    if "throttle" in done and ends:
        raise FaultRefused(f"throttle and {ends[0]} exclude each other")
    return RequestAction(
        error=_error(done["error"], api) if "error" in done else None,
        drop="drop" in done and flag(done["drop"], "drop"),
        lose_answer="lose_answer" in done and flag(done["lose_answer"], "lose_answer"),
        cut=cut,
        delay=delay(done["delay"], "delay") if "delay" in done else None,
        pause="pause" in done and flag(done["pause"], "pause"),
        throttle=whole_number(done["throttle"], "throttle, in bytes per second,", 1, BYTES_PER_S_MAX)
        if "throttle" in done
        else None,
    )


def _error(value: Any, api: ApiKey | None) -> ErrorCode:
    if api is None:
        raise FaultRefused("an error needs an api: each API has its own error codes")
    there_are = codes_of(api)
    if not isinstance(value, str) or value not in {code.name for code in there_are}:
        meant = typo(value, [code.name for code in there_are])
        raise FaultRefused(f"{meant}{api.api_name} does not return {shown(value)}, but {names_of(there_are)}")
    return ErrorCode[value]
