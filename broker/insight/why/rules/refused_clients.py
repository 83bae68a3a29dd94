"""Refusals of clients and how to end them: missing rights, quotas, failed logins."""

from __future__ import annotations

from shlex import quote
from typing import Final, NamedTuple

from barnabas.broker.insight.why.rules.answer import WhyAnswer, plain
from barnabas.broker.insight.why.rules.formatting import counted, duration, listed, named
from barnabas.broker.security.session.operations import camel_case

SHOWN_MAX: Final = 3
"""Maximum number of each kind with separate sentences."""
LATELY_MS: Final = 60_000
"""Throttles and failed logins that are older are presumably over."""
_WHAT_IS_NEEDED: Final = {("FindCoordinator", "TRANSACTIONAL_ID"): "WRITE", ("FindCoordinator", "GROUP"): "READ"}
"""A client that looks up a coordinator needs more than DESCRIBE, which was denied. These operations imply DESCRIBE."""


class AclFacts(NamedTuple):
    """The ACL that denies."""

    principal: str
    host: str
    operation: str
    name: str
    pattern_type: str


class DenialFacts(NamedTuple):
    """A request of a principal that was denied, and still would be."""

    principal: str
    host: str
    client_id: str | None
    api: str
    operation: str
    resource: str
    name: str
    error: str
    times: int
    ago_ms: int
    acl: AclFacts | None = None
    """The ACL that denies it; None if no ACL allows it."""


class ThrottleFacts(NamedTuple):
    """A client that exceeded its quota."""

    user: str
    client_id: str
    quota: str
    entity: tuple[str, ...]
    """The entity of the quota: `user alice`, `client-id <default>`."""
    limit: float | None
    throttle_ms: int
    api: str
    peer: str
    times: int
    ago_ms: int
    is_set: bool = True
    """Whether the quota still exists."""


class RefusalFacts(NamedTuple):
    """A client that was not authenticated, or whose connection was throttled."""

    host: str
    listener: str
    reason: str
    times: int
    ago_ms: int
    client_id: str | None = None
    mechanism: str | None = None
    is_again: bool = False
    is_sure: bool = True
    """Whether it is certainly a client of the query."""


class RefusedClients(NamedTuple):
    """All refusals of the clients of a query. If there are many, the latest ones first."""

    bootstrap: str
    """Bootstrap server for commands."""
    subject: str | None = None
    """A group, a transactional id; None if the query is about all clients."""
    denials: tuple[DenialFacts, ...] = ()
    throttles: tuple[ThrottleFacts, ...] = ()
    refusals: tuple[RefusalFacts, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there are no refusals."""
        return not (self.denials or self.throttles or self.refusals)


def sentences(kept_out: RefusedClients | None, shown_max: int = SHOWN_MAX) -> list[str]:
    """Return a sentence for each, with what ends it."""
    if kept_out is None:
        return []
    lines = [_denial(each, kept_out.bootstrap) for each in kept_out.denials[:shown_max]]
    lines += [_throttle(each, kept_out.bootstrap) for each in kept_out.throttles[:shown_max]]
    lines += [_refusal(each, kept_out.subject) for each in kept_out.refusals[:shown_max]]
    more = sum(max(0, len(each) - shown_max) for each in (kept_out.denials, kept_out.throttles, kept_out.refusals))
    if more:
        lines.append(f"{counted(more, 'more case')} of clients that were refused or throttled are in the evidence.")
    return lines


def beside(kept_out: RefusedClients | None, lines: list[str]) -> list[str]:
    """Return the sentences about refusals before the others, or after them if all refusals are old."""
    refused = sentences(kept_out)
    return [*lines, *refused] if kept_out is not None and _is_over(kept_out) else [*refused, *lines]


def _is_over(kept_out: RefusedClients) -> bool:
    """Return whether all refusals are old. A denial is always current."""
    agos_ms = [each.ago_ms for each in kept_out.throttles] + [each.ago_ms for each in kept_out.refusals]
    return not kept_out.denials and all(ago_ms > LATELY_MS for ago_ms in agos_ms)


def explain(kept_out: RefusedClients) -> WhyAnswer:
    """Return the answer about the refusals of all clients."""
    return WhyAnswer(tuple(sentences(kept_out)), {"kept_out": plain(kept_out)})


# --- rights ---


def _denial(denial: DenialFacts, bootstrap: str) -> str:
    who = f"{denial.api} of {named(denial.principal)}{_client(denial.client_id)} from {denial.host}"
    first = f"{who} is denied {camel_case(denial.operation)} on {_resource(denial)} ({denial.error}){_often(denial)}"
    if denial.acl is None:
        operation = _WHAT_IS_NEEDED.get((denial.api, denial.resource), denial.operation)
        right = f"--allow-principal {_shell(denial.principal)} --operation {camel_case(operation)}"
        allow = f"barnabas acls add --bootstrap-server {bootstrap} {right} {_option(denial.resource, denial.name)}"
        return f"{first}: no ACL allows it. `{allow}` does."
    acl = denial.acl
    host = "" if acl.host == "*" else f" --deny-host {_shell(acl.host)}"
    right = f"--deny-principal {_shell(acl.principal)}{host} --operation {camel_case(acl.operation)}"
    on = f"{_option(denial.resource, acl.name)} --resource-pattern-type {acl.pattern_type.lower()}"
    take_back = f"barnabas acls remove --bootstrap-server {bootstrap} {right} {on}"
    return f"{first}: an ACL denies it, even if other ACLs allow it. `{take_back}` removes it."


def _resource(denial: DenialFacts) -> str:
    kind = denial.resource.lower().replace("_", " ")
    return "the cluster" if denial.resource == "CLUSTER" else f"{kind} {named(denial.name)}"


def _option(resource: str, name: str) -> str:
    if resource == "CLUSTER":
        return "--cluster"
    option = "--user-principal" if resource == "USER" else f"--{resource.lower().replace('_', '-')}"
    return f"{option}={_shell(name)}" if name.startswith("-") else f"{option} {_shell(name)}"


def _shell(name: str) -> str:
    """Quote a name for a command to copy; return NAME if it is too long, or not printable."""
    return quote(name) if named(name) == name else "NAME"


# --- quotas ---

_UNITS: Final = {
    "producer_byte_rate": "bytes a second",
    "consumer_byte_rate": "bytes a second",
    "request_percentage": "% of a thread's time",
    "controller_mutation_rate": "partitions a second",
}
_ENTITY_OPTIONS: Final = {"user": ("--user", "--user-defaults"), "client-id": ("--client", "--client-defaults")}


def _throttle(throttle: ThrottleFacts, bootstrap: str) -> str:
    is_over = throttle.ago_ms > throttle.throttle_ms
    client = f"client {named(throttle.client_id)}" if throttle.client_id else "a client without an id"
    limit = "" if throttle.limit is None else f" of {throttle.limit:g} {_UNITS[throttle.quota]}"
    quota = f"{throttle.quota}{limit} is all that {listed([named(each) for each in throttle.entity])} may use."
    is_there = throttle.is_set and throttle.entity
    if not is_there:
        quota = f"its quota {throttle.quota} was removed since then."
    options = " ".join(_entity_option(each) for each in throttle.entity)
    alter = f"barnabas quotas alter --bootstrap-server {bootstrap} {options} --delete {throttle.quota}"
    end = f" `{alter}` removes the quota." if is_there else ""
    return (
        f"{throttle.api} of {client} (user {named(throttle.user)}) from {throttle.peer} "
        f"{'was' if is_over else 'is'} throttled, for "
        f"{duration(throttle.throttle_ms)}{_often(throttle)}: {quota}{end}"
    )


def _entity_option(entity: str) -> str:
    kind, _, name = entity.partition(" ")
    option, default = _ENTITY_OPTIONS[kind]
    return default if name == "<default>" else f"{option} {_shell(name)}"


# --- logins ---

_MAYBE: Final[dict[str | None, str]] = {
    "group": "belong to this group",
    "transactional id": "use this transactional id",
}
"""The uncertainty about a client that was not authenticated, by the subject of the query."""


def _refusal(refusal: RefusalFacts, subject: str | None) -> str:
    who = f"A client{_client(refusal.client_id)} from {refusal.host}"
    if not refusal.is_sure:
        who += f", which may {_MAYBE.get(subject, 'be meant')},"
    by = "" if refusal.mechanism is None else f" with {refusal.mechanism}"
    what = "could not re-authenticate" if refusal.is_again else "could not authenticate"
    reason = refusal.reason.rstrip(".")
    end = "" if reason.endswith("?") else "."
    return f"{who} {what} at listener {refusal.listener}{by}{_often(refusal)}: {named(reason)}{end}"


# --- common parts ---


def _client(client_id: str | None) -> str:
    return f" (client {named(client_id)})" if client_id else ""


def _often(each: DenialFacts | ThrottleFacts | RefusalFacts) -> str:
    if each.times == 1:
        return f", {duration(each.ago_ms)} ago"
    return f", {each.times} times, the last {duration(each.ago_ms)} ago"
