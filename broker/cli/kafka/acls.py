"""kafka-acls. The combined meaning of its flags is decided by `acl_words`, as for `barnabas acls`."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterable, Sequence

from barnabas.broker.cli.acl.acl_options import operation, principal, trimmed
from barnabas.broker.cli.acl.acl_words import (
    PATTERN_TYPES,
    RESOURCE_OPTIONS,
    Wish,
    WishError,
    entries,
    filters,
    looked_for,
)
from barnabas.broker.cli.acl.acls import authorizer_named
from barnabas.broker.cli.kafka.flags import (
    ALONE,
    VALUE,
    CommandRefused,
    Options,
    cluster,
    error_text,
    read,
    says_version,
)
from barnabas.broker.security.acl.acl import PatternType, Permission
from barnabas.broker.security.session.operations import SUPPORTED, Operation, Resource
from barnabas.client.admin.acls import AclBinding, AclBindingFilter, create_acls, delete_acls, describe_acls
from barnabas.client.client import Client
from barnabas.protocol.errors import KafkaError

_ACTIONS = ("list", "add", "remove")
_PRINCIPALS, _HOSTS = ("allow-principal", "deny-principal"), ("allow-host", "deny-host")
_PATTERN = "resource-pattern-type"
_FLAGS = {
    **dict.fromkeys([*_ACTIONS, "force", "cluster", "producer", "consumer", "idempotent"], ALONE),
    **dict.fromkeys([*_PRINCIPALS, *_HOSTS, "operation", "principal", _PATTERN, *RESOURCE_OPTIONS.values()], VALUE),
    "bootstrap-controller": VALUE,
}
_PURPOSE = "This tool helps to manage acls on kafka."
_NO_RESOURCE = (
    "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
    "--delegation-token <Delegation Token ID>"
)


def kafka_acls(arguments: Sequence[str]) -> int:
    """List, add and remove ACLs."""
    options = read(_FLAGS, arguments)
    if says_version(options, arguments, _PURPOSE, _FLAGS):
        return 0
    action = _checked(options)
    try:
        wish = _wish(options)
        with cluster(options) as client, authorizer_named():
            _DO[action](client, options, wish)
    except WishError as error:
        raise CommandRefused(str(error)) from error
    except (ArgumentTypeError, KafkaError) as error:
        print(f"Error while executing ACL command: {error_text(error)}")
        return 1
    return 0


def _checked(options: Options) -> str:
    """Return the action. CommandRefused if flags do not go together."""
    if not options.has("bootstrap-server"):
        if options.has("bootstrap-controller"):
            raise CommandRefused("There is no listener of a controller here: name a broker with --bootstrap-server.")
        raise CommandRefused("One of --bootstrap-server or --bootstrap-controller must be specified")
    actions = [action for action in _ACTIONS if options.has(action)]
    if len(actions) != 1:
        raise CommandRefused("Command must include exactly one action: --list, --add, --remove.")
    (action,) = actions
    if action != "list" and not any(map(options.has, ("cluster", *RESOURCE_OPTIONS.values()))):
        raise CommandRefused(_NO_RESOURCE)
    if action == "add" and not any(map(options.has, _PRINCIPALS)):
        raise CommandRefused("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    if action == "remove" and not options.has("force"):
        raise CommandRefused("kafka-acls: --remove needs --force, because this tool asks no questions")
    return action


def _wish(options: Options) -> Wish:
    names = [
        (resource, text if resource == Resource.TRANSACTIONAL_ID else trimmed(text))
        for resource, option in RESOURCE_OPTIONS.items()
        for text in options.values(option)
    ]
    pattern = (options.value(_PATTERN) or "literal").lower()
    if pattern not in PATTERN_TYPES:
        raise CommandRefused(f"Cannot parse argument '{pattern}' of option {_PATTERN}")
    kinds = [resource for resource, _ in names] + [Resource.CLUSTER] * options.has("cluster")
    operations = [_operation(text, kinds) for text in options.values("operation")]
    allowed, denied = (tuple(map(_principal, options.values(flag))) for flag in _PRINCIPALS)
    allow_hosts, deny_hosts = (tuple(map(trimmed, options.values(flag))) for flag in _HOSTS)
    return Wish(
        names=tuple(names),
        has_cluster=options.has("cluster"),
        pattern_type=PATTERN_TYPES[pattern],
        allowed=allowed,
        denied=denied,
        allow_hosts=allow_hosts,
        deny_hosts=deny_hosts,
        operations=tuple(operations),
        is_producer=options.has("producer"),
        is_idempotent=options.has("idempotent"),
        is_consumer=options.has("consumer"),
    )


def _principal(text: str) -> str:
    try:
        return principal(text)
    except ArgumentTypeError:
        what = f"expected a string in format principalType:principalName but got {text}"
        raise ArgumentTypeError(what) from None


def _operation(text: str, kinds: Sequence[Resource]) -> Operation:
    """Return the operation, if the resources have it. CommandRefused."""
    try:
        found = operation(text)
    except ArgumentTypeError:
        found = None
    for kind in kinds:
        known = [Operation.ALL, *SUPPORTED[kind]]
        if found not in known:
            shown = ", ".join(each.name for each in known)
            raise CommandRefused(f"ResourceType {kind.name} only supports operations [{shown}]")
    return found or Operation.ALL


# --- actions ---


def _add(client: Client, options: Options, wish: Wish) -> None:
    for resource, wanted in _by_resource(entries(wish)).items():
        there = {entry for entry in wanted if describe_acls(client, AclBindingFilter(*entry))}
        for entry in wanted:
            if entry in there:
                print(f"Acl (pattern={resource}, entry={_entry(entry)}) already exists.")
        if new := [entry for entry in wanted if entry not in there]:
            create_acls(client, new)
            print(f"Adding ACLs for resource `{resource}`: \n {_lines(new)}")


def _remove(client: Client, options: Options, wish: Wish) -> None:
    delete_acls(client, filters(wish))


def _list(client: Client, options: Options, wish: Wish) -> None:
    principals: list[str | None] = [_principal(text) for text in options.values("principal")]
    for who in principals or [None]:
        wanted = looked_for(wish, [] if who is None else [who])
        found = sorted({entry for each in wanted for entry in describe_acls(client, each)})
        if who is not None:
            print(f"ACLs for principal `{who}`")
        for resource, each in _by_resource(found).items():
            print(f"Current ACLs for resource `{resource}`: \n{_lines(each)}")


def _by_resource(found: Iterable[AclBinding]) -> dict[str, list[AclBinding]]:
    by_resource: dict[str, list[AclBinding]] = {}
    for entry in found:
        kind, pattern = Resource(entry.resource_type).name, PatternType(entry.pattern_type).name
        name = f"ResourcePattern(resourceType={kind}, name={entry.resource_name}, patternType={pattern})"
        by_resource.setdefault(name, []).append(entry)
    return by_resource


def _lines(found: Iterable[AclBinding]) -> str:
    return "".join(f"\t{_entry(entry)}\n" for entry in found)


def _entry(entry: AclBinding) -> str:
    what, permission = Operation(entry.operation).name, Permission(entry.permission_type).name
    return f"(principal={entry.principal}, host={entry.host}, operation={what}, permissionType={permission})"


_DO = {"list": _list, "add": _add, "remove": _remove}
