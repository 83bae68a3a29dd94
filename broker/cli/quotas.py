"""`barnabas quotas`: list, alter. Quotas of users, client ids and addresses."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import Parser, assignment, connected, shared_options, unique_keys
from barnabas.broker.cli.terminal.output import print_json, print_table
from barnabas.client.admin.quotas import Entity, alter_quotas, describe_quotas
from barnabas.client.client import Client

_KINDS = {"user": "user", "client": "client-id", "ip": "ip"}
"""The flags of the types of entities."""


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    if options.command == "alter":
        options.changes = _changes(options)
        if not _entity(options):
            raise UsageError("quotas alter: no client: give --user, --client or --ip, or one of them with -defaults")
    with connected(options) as client:
        options.action(client, options)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parents = [*shared_options(again=True), _whose_options()]
    top = Parser(
        prog="barnabas quotas", description="List the quotas of clients, and change them.", parents=shared_options()
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", parents=parents, help="list the quotas that are set, for all clients or some")
    listing.set_defaults(action=_list)
    alter = commands.add_parser("alter", parents=parents, help="change quotas of a user, client id or address")
    alter.add_argument("--set", action="append", type=assignment, default=[], metavar="KEY=VALUE", help="a quota")
    alter.add_argument("--delete", action="append", default=[], metavar="KEY", help="remove a quota")
    alter.add_argument("--validate-only", action="store_true", help="check, but change nothing")
    alter.set_defaults(action=_alter)
    return top


def _whose_options() -> Parser:
    options = Parser(add_help=False)
    whose = options.add_argument_group("whose")
    for flag, text in (
        ("user", "a user"),
        ("client", "a client id; with --user only for that user"),
        ("ip", "an address"),
    ):
        either = whose.add_mutually_exclusive_group()
        either.add_argument(f"--{flag}", metavar="NAME", help=text)
        either.add_argument(f"--{flag}-defaults", action="store_true", help="every one without its own quota")
    return options


def _entity(options: argparse.Namespace) -> Entity:
    return {
        kind: getattr(options, flag)
        for flag, kind in _KINDS.items()
        if getattr(options, flag) is not None or getattr(options, f"{flag}_defaults")
    }


def _changes(options: argparse.Namespace) -> dict[str, float | None]:
    changes: dict[str, float | None] = dict.fromkeys(options.delete)
    for key, text in unique_keys(options.set, "--set").items():
        try:
            changes[key] = float(text)
        except ValueError:
            raise UsageError(f"quotas alter: --set {key}: its value is not a number") from None
    if not changes:
        raise UsageError("quotas alter: nothing to do, give --set or --delete")
    return changes


def _list(client: Client, options: argparse.Namespace) -> None:
    wanted = _entity(options).items()
    found = [each for each in describe_quotas(client) if wanted <= each.entity.items()]
    if options.json:
        print_json([{"entity": dict(each.entity), "quotas": dict(each.quotas)} for each in found])
    elif found:
        rows = [(_shown(each.entity), key, f"{value:.15g}") for each in found for key, value in each.quotas.items()]
        print_table(("whose", "quota", "value"), sorted(rows))


def _shown(entity: Entity) -> str:
    parts = sorted(entity.items(), reverse=True)  # the user before the client id
    return ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in parts)


def _alter(client: Client, options: argparse.Namespace) -> None:
    alter_quotas(client, _entity(options), options.changes, validate_only=options.validate_only)
    if options.json:
        print_json({"altered": [] if options.validate_only else sorted(options.changes)})
    else:
        print(f"{'could change' if options.validate_only else 'changed'} {len(options.changes)} quota(s)")
