"""The flags of `barnabas acls add` and the like: their names and parsing, and the `Wish` that they make.

The names are those of Kafka's AclCommand. `Barnabas(grants=…)` takes rights in the same words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NoReturn

from barnabas.broker.cli.acl.acl_words import PATTERN_TYPES, RESOURCE_OPTIONS, Wish, WishError, entries, operation_word
from barnabas.broker.cli.terminal.options import Parser
from barnabas.broker.security.acl.acl import WILDCARD, PatternType
from barnabas.broker.security.session.operations import Operation
from barnabas.client.admin.acls import AclBinding
from barnabas.client.near_names import did_you_mean

_SPECIFIC = ("literal", "prefixed")
_TRIMMED = "".join(map(chr, range(ord(" ") + 1)))
_HELP = {
    "topic": "a topic; * is every topic",
    "group": "a group",
    "transactional-id": "a transactional id",
    "delegation-token": "the id of a delegation token",
    "user-principal": "a user whose tokens may be created: User:bob; * is every user",
}
_PATTERN_HELP = "literal: exactly this name; prefixed: every name that begins with it"
_FILTER_HELP = (
    "; match: all that apply to this name, also those for * and for prefixes; any: those for this name, literal or "
    "prefixed. Careful: with match, remove also removes the ACLs for * and for prefixes; with any, the prefixed ones "
    "of this name"
)


def resource_options(*, filters: bool, pattern_type: str) -> Parser:
    """Return the options for resources. `filters`: whether they find entries, so that match and any are allowed too.

    `pattern_type`: the default.
    """
    options = Parser(add_help=False)
    group = options.add_argument_group("on what")
    for option in RESOURCE_OPTIONS.values():
        kind = str if option == "transactional-id" else trimmed
        if option == "user-principal" and not filters:  # a filter also finds entries of other tools
            kind = user_principal
        _add(group, f"--{option}", kind, "TYPE:NAME" if option == "user-principal" else "NAME", _HELP[option])
    group.add_argument("--cluster", action="store_true", help="the cluster")
    group.add_argument(
        "--resource-pattern-type",
        type=str.lower,
        choices=tuple(PATTERN_TYPES) if filters else _SPECIFIC,
        default=pattern_type,
        help=f"{_PATTERN_HELP}{_FILTER_HELP if filters else ''}; default {pattern_type}",
    )
    return options


def right_options() -> Parser:
    """Return the options for principals, hosts and operations, allowed or denied."""
    options = Parser(add_help=False)
    who = options.add_argument_group("principals")
    for verb, text in (("allow", "may"), ("deny", "may not")):
        _add(who, f"--{verb}-principal", principal, "TYPE:NAME", f"a principal that {text}: User:alice")
        _add(who, f"--{verb}-host", trimmed, "ADDRESS", f"a host from where it {text}; default *")
    what = options.add_argument_group("operations")
    _add(what, "--operation", operation, "OPERATION", "Read, Write, …; default All")
    what.add_argument(
        "--producer", action="store_true", help="all that a producer needs on --topic, --transactional-id"
    )
    what.add_argument("--idempotent", action="store_true", help="with --producer: IdempotentWrite on the cluster too")
    what.add_argument("--consumer", action="store_true", help="all that a consumer needs on --topic and --group")
    return options


def _add(group: argparse._ArgumentGroup, flag: str, kind: Callable[[str], object], metavar: str, text: str) -> None:
    """Add a flag that may be repeated."""
    group.add_argument(flag, action="append", default=[], type=kind, metavar=metavar, help=text)


def trimmed(text: str) -> str:
    """Trim by Java's String.trim, control characters too, as Kafka's tool trims all but transactional ids."""
    return text.strip(_TRIMMED)


def principal(text: str) -> str:
    """Parse `User:alice`."""
    text = trimmed(text)
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        raise argparse.ArgumentTypeError(f"{text!r} is not TYPE:NAME, such as User:{text.strip(':') or 'alice'}")
    return text


def user_principal(text: str) -> str:
    """Parse `User:bob`, or `*`."""
    return WILDCARD if trimmed(text) == WILDCARD else principal(text)


def operation(text: str) -> Operation:
    """Parse an operation as Kafka's tools or its protocol write it: TwoPhaseCommit, TWO_PHASE_COMMIT."""
    for each in Operation:
        if trimmed(text).replace("_", "").lower() == operation_word(each).lower():
            return each
    words = [operation_word(each) for each in Operation]
    raise argparse.ArgumentTypeError(f"{text!r}{did_you_mean(text, words) or ' is not one of ' + ', '.join(words)}")


def wish_of(options: argparse.Namespace) -> Wish:
    """Return the flags as a `Wish`."""
    resources = Wish(
        names=tuple(
            (resource, name)
            for resource, option in RESOURCE_OPTIONS.items()
            for name in getattr(options, option.replace("-", "_"))
        ),
        has_cluster=options.cluster,
        pattern_type=PATTERN_TYPES.get(options.resource_pattern_type, PatternType.LITERAL),
    )
    if "allow_principal" not in options:
        return resources
    return resources._replace(
        allowed=tuple(options.allow_principal),
        denied=tuple(options.deny_principal),
        allow_hosts=tuple(options.allow_host),
        deny_hosts=tuple(options.deny_host),
        operations=tuple(options.operation),
        is_producer=options.producer,
        is_idempotent=options.idempotent,
        is_consumer=options.consumer,
    )


def rights_of(principal: str, words: Sequence[str]) -> list[AclBinding]:
    """Return the entries that `acls add` adds for a principal: --consumer --topic orders --group readers. WishError."""
    parents = [resource_options(filters=False, pattern_type="literal"), right_options()]
    wish = wish_of(_WordsParser(parents=parents, add_help=False).parse_args(words))
    if wish.allowed or wish.denied:
        raise WishError("the right already has a principal before it")
    return entries(wish._replace(allowed=(principal,)))


class _WordsParser(Parser):
    """A parser of words that do not belong to a command."""

    def error(self, message: str) -> NoReturn:
        raise WishError(message)
