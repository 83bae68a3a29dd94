"""The broker itself: its health, the connected clients, security, and its settings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.broker.config.broker_config import ValueSource
from barnabas.broker.config.definitions.keys import KEYS, Key
from barnabas.broker.config.definitions.values import text_of
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import ConsolePage, Facts
from barnabas.broker.http.console.params import RequestParams
from barnabas.broker.http.console.queries import security as looking
from barnabas.broker.http.console.sorting import Keys, sorting_of
from barnabas.broker.insight.inspection.cleaning import uncleanable
from barnabas.broker.insight.inspection.logs import disk_space_readings, offline_reason, still_recovering
from barnabas.broker.insight.inspection.nodes import running

if TYPE_CHECKING:
    from barnabas.broker.services import Services

CONNECTIONS_MAX = 300
SORTED_MAX = 2_000
"""Connections of which the table shows the first ones."""
_FAILED_MAX = 100
_SOURCES = {
    ValueSource.DYNAMIC_BROKER: "set for this broker while running",
    ValueSource.DYNAMIC_DEFAULT_BROKER: "set for all brokers while running",
    ValueSource.STATIC_BROKER: "given at the start",
    ValueSource.DEFAULT: "default",
}


async def _health(observed: ConsoleContext, params: RequestParams) -> Facts:
    services = observed.services
    failed = sorted(services.partitions.failed.reasons.items())
    return {
        "unready": observed.unready_reason(),
        "awaited": list(observed.awaited()),
        "offline": offline_reason(services),
        "disk_space_readings": [(room, _share_used(room.volume)) for room in disk_space_readings(services)],
        "recovering": {path: each for path, each in still_recovering(services).items() if each.logs or each.segments},
        "failed": failed[:_FAILED_MAX],
        "failed_count": len(failed),
        "uncleanable": uncleanable(services)[:_FAILED_MAX],
        "nodes_running": running(services),
        "members": {member.node_id: member for member in observed.members},
    }


def _share_used(volume: object) -> float | None:
    total, usable = getattr(volume, "total_bytes", 0), getattr(volume, "usable_bytes", 0)
    return round(100 * (1 - usable / total), 1) if total else None


async def _clients(observed: ConsoleContext, params: RequestParams) -> Facts:
    sorting = sorting_of(params, "/clients", _CLIENT_KEYS)
    rows: list[Facts] = []
    libraries: Counter[str] = Counter()
    count = 0
    for member in observed.members:
        for connection in member.listener.connections:
            count += 1
            name, version = connection.session.client_software
            library = "unknown" if name == "unknown" else f"{name} {version}"
            libraries[library] += 1
            if len(rows) < SORTED_MAX:
                rows.append(
                    {
                        "node": member.node_id,
                        "peer": connection.peer,
                        "client_id": connection.client_id,
                        "principal": connection.session.named_principal,
                        "library": library,
                        "listener": connection.session.listener,
                        "is_waiting": connection.is_parked,
                    }
                )
    rows.sort(key=lambda row: (row["client_id"] or "", row["peer"]))
    rows = sorting.applied(rows, _CLIENT_KEYS)[:CONNECTIONS_MAX]
    return {
        "rows": rows,
        "sorting": sorting,
        "has_principals": any(row["principal"] for row in rows),
        "count": count,
        "libraries": libraries.most_common(20),
        "left_out": count - len(rows),
    }


_CLIENT_KEYS: Keys[Facts] = {
    "client": lambda row: row["client_id"],
    "principal": lambda row: row["principal"],
    "library": lambda row: row["library"],
    "from": lambda row: row["peer"],
    "listener": lambda row: row["listener"],
    "node": lambda row: row["node"],
    "now": lambda row: not row["is_waiting"],
}


async def _security(observed: ConsoleContext, params: RequestParams) -> Facts:
    services, members, needle = observed.services, observed.members, params.word("q")
    acls, acls_count = await observed.in_turns(lambda: looking.acls(services, needle))
    users, quotas = looking.users(services), looking.quotas(services)
    return {
        "refused": looking.refused_lately(services),
        "sasl_listeners": looking.sasl_listeners(members),
        "connected": looking.connected(members),
        "muted_count": looking.muted_count(services),
        "users": users[: looking.ROWS_MAX],
        "users_count": len(users),
        "quotas": quotas[: looking.ROWS_MAX],
        "quotas_count": len(quotas),
        "authorizes": services.access is not None,
        "super_users": services.config.text("super.users"),
        "needle": needle,
        "acls": acls,
        "acls_count": acls_count,
    }


async def _settings(observed: ConsoleContext, params: RequestParams) -> Facts:
    which, needle = params.one_of("which", "changed", "all"), params.word("q")
    rows = [_setting(observed.services, key) for key in sorted(KEYS.values()) if needle in key.name]
    changed = [row for row in rows if row["is_changed"]]
    return {
        "which": which,
        "needle": needle,
        "rows": changed if which == "changed" else rows,
        "count": len(rows),
        "changed_count": len(changed),
    }


def _setting(services: Services, key: Key) -> Facts:
    found = services.config.synonyms(key.name)
    given = next((each for each in found if each.source is not ValueSource.DEFAULT), None)
    value = text_of(services.config.value(key.name))
    return {
        "name": key.name,
        "value": "hidden" if key.is_sensitive and value is not None else value,
        "default": key.default,
        "source": _SOURCES[ValueSource.DEFAULT if given is None else given.source],
        "by": given.name if given is not None and given.name != key.name else "",
        "is_changed": given is not None and value != key.default,
        "may_change_how": key.update.value,
    }


PAGES = (
    ConsolePage("/console/health", "health.html", _health),
    ConsolePage("/console/clients", "clients.html", _clients),
    ConsolePage("/console/security", "security.html", _security),
    ConsolePage("/console/settings", "settings.html", _settings, is_live=False),
)
