"""`barnabas acls`: list, add, remove. The access control lists of a broker with an authorizer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from barnabas.broker.cli.acl.acl_options import principal, resource_options, right_options, wish_of
from barnabas.broker.cli.acl.acl_words import WishError, entries, filters, looked_for, shown
from barnabas.broker.cli.terminal.failures import FAILURE, UsageError
from barnabas.broker.cli.terminal.options import Parser, connected, shared_options
from barnabas.broker.cli.terminal.output import counted, print_json, print_table
from barnabas.broker.config.authorizer import STANDARD_AUTHORIZER
from barnabas.client.admin.acls import create_acls, delete_acls, describe_acls
from barnabas.client.client import Client
from barnabas.protocol.errors import ErrorCode, KafkaError


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    try:
        options.wished = options.meaning(options)
    except WishError as wrong:
        raise UsageError(f"acls {options.command}: {wrong} (see barnabas acls {options.command} --help)") from wrong
    with connected(options) as client, authorizer_named():
        status: int = options.action(client, options)
    return status


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    again = shared_options(again=True)
    top = Parser(
        prog="barnabas acls", description="List, add and remove access control lists (ACLs).", parents=shared_options()
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    finding = resource_options(filters=True, pattern_type="match")
    listing = commands.add_parser("list", parents=[*again, finding], help="list the ACLs, all of them or some")
    listing.add_argument(
        "--principal", action="append", type=principal, default=[], metavar="TYPE:NAME", help="only for these"
    )
    listing.set_defaults(action=_list, meaning=lambda options: looked_for(wish_of(options), options.principal))
    placing = resource_options(filters=False, pattern_type="literal")
    add = commands.add_parser("add", parents=[*again, placing, right_options()], help="allow or deny an operation")
    add.set_defaults(action=_add, meaning=lambda options: entries(wish_of(options)))
    removing = resource_options(filters=True, pattern_type="literal")
    remove = commands.add_parser("remove", parents=[*again, removing, right_options()], help="remove ACLs")
    remove.set_defaults(action=_remove, meaning=lambda options: filters(wish_of(options)))
    return top


@contextmanager
def authorizer_named() -> Iterator[None]:
    """Turn the error of a broker without an authorizer, so without ACLs, into a KafkaError that says how to add one."""
    try:
        yield
    except KafkaError as error:
        if error.code is not ErrorCode.SECURITY_DISABLED:
            raise
        setting = f"authorizer.class.name={STANDARD_AUTHORIZER}"
        how = f"start it with --secure, or with --set {setting} --set super.users=User:ANONYMOUS"
        raise KafkaError(
            error.code, f"the broker has no authorizer, so every client may do everything: {how}"
        ) from error


def _list(client: Client, options: argparse.Namespace) -> int:
    found = sorted({entry for wanted in options.wished for entry in describe_acls(client, wanted)})
    rows = [shown(entry) for entry in found]
    if options.json:
        print_json(rows)
    elif rows:
        print_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
    return 0


def _add(client: Client, options: argparse.Namespace) -> int:
    create_acls(client, options.wished)
    if options.json:
        print_json({"in_force": [shown(entry) for entry in options.wished]})
    else:
        count = len(options.wished)  # includes existing ones: the broker does not distinguish them
        print(f"{counted(count, 'ACL')} {'is' if count == 1 else 'are'} in force")
    return 0


def _remove(client: Client, options: argparse.Namespace) -> int:
    removed = delete_acls(client, options.wished)
    if options.json:
        print_json({"removed": [shown(entry) for entry in removed]})
    elif removed:
        print(f"removed {counted(len(removed), 'ACL')}")
    if not removed:
        print("barnabas: no ACL matches now: `barnabas acls list` shows all", file=sys.stderr)
        return FAILURE
    return 0
