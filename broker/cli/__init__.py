"""The command line: `barnabas COMMAND …`. One module per command, imported only when it is used.

Every command module has `run(arguments) -> exit status`. Exit statuses: 0 success, 2 a wrong command line, 1 any other
failure; each failure is one line on stderr that begins with `barnabas:`. An interrupt (^C) is 130.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from barnabas.broker.cli.terminal.failures import FAILURE, INTERRUPTED, USAGE_ERROR, describe

COMMANDS = {
    "serve": "run a broker",
    "topics": "list, create, delete, describe, alter topics",
    "produce": "write the lines of a file or of stdin to a topic",
    "consume": "print the records of a topic",
    "groups": "list, describe, reset, delete groups of consumers, and print their lag",
    "txn": "list, describe, abort transactions, and find those that hang",
    "nodes": "list, stop and start the nodes of a broker with several nodes, and move leaders",
    "clock": "stop the clock of a running broker, or move it ahead: for tests",
    "faults": "arm faults in a running broker, from a plan: for tests",
    "why": "why a consumer gets nothing, a producer was fenced, a group rebalances, or what happened to a record",
    "trace": "print the latest events in a broker, and follow new ones",
    "mcp": "serve tools for a running broker to a coding agent, over stdin and stdout",
    "seed": "bring topics, records, transactions, groups, users and ACLs from a document to a broker",
    "snapshot": "write what a broker holds as such a document",
    "configs": "describe or alter the configuration of topics and brokers",
    "quotas": "list and alter the quotas of clients",
    "acls": "list, add, remove access control lists (ACLs)",
    "doctor": "find mistakes in a configuration, or problems of a running broker",
    "log": "dump, verify, repair or compact the files of a data directory",
    "handover": "hand a stopped data directory over to Apache Kafka: check it, and print the configuration for Kafka",
}

_IN_FOLDERS = {
    "serve": "serving.serve",
    "produce": "records.produce",
    "consume": "records.consume",
    "seed": "records.seed",
    "snapshot": "records.snapshot",
    "groups": "group.groups",
    "txn": "transactions.txn",
    "clock": "control.clock",
    "faults": "control.faults",
    "why": "control.why",
    "trace": "control.trace",
    "mcp": "control.mcp.command",
    "acls": "acl.acls",
    "doctor": "doctor.command",
    "handover": "handover.command",
}
"""The modules of commands that are in a package of their own."""


def module_of(command: str) -> str:
    """Return the name of a command's module."""
    return f"barnabas.broker.cli.{_IN_FOLDERS.get(command, command)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments (by default the process's) name; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = given[0] if given else ""
    if name in COMMANDS:
        return _run(name, given[1:])
    if name in ("--help", "-h", "help"):
        return guarded(lambda: _say(_help()))
    if name == "--version":
        return guarded(lambda: _say(_version()))
    what = f"no command {name!r}" if name else "no command given"
    print(f"barnabas: {what}{_meant(name) or ', expected one of: ' + ', '.join(COMMANDS)}", file=sys.stderr)
    return USAGE_ERROR


def _meant(name: str) -> str:
    from barnabas.client.near_names import did_you_mean

    return did_you_mean(name, COMMANDS)


def _say(text: str) -> int:
    print(text)
    return 0


def _version() -> str:
    from importlib.metadata import version

    from barnabas.form import running

    return f"barnabas {version('barnabas')} ({running()})"


def _run(name: str, arguments: list[str]) -> int:
    from importlib import import_module

    if sys.stdout is None and name != "serve":
        print("barnabas: stdout is closed", file=sys.stderr)
        return FAILURE
    return guarded(lambda: int(import_module(module_of(name)).run(arguments)))


def guarded(action: Callable[[], int]) -> int:
    """Return the exit status of `action`; an exception becomes a line on stderr."""
    try:
        try:
            status = action()
        except SystemExit as stop:  # argparse, after --help or a reported usage error
            status = stop.code if isinstance(stop.code, int) else FAILURE if stop.code else 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _close_stdout()
        return FAILURE
    except Exception as error:
        sentence, status = describe(error)
        if sentence is None:
            raise
        print(f"barnabas: {sentence}", file=sys.stderr)
    return status


def _close_stdout() -> None:
    """Discard further output after the reader of stdout has gone, also what the interpreter flushes at its end."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _help() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:{width}}  {text}" for name, text in COMMANDS.items())
    return f"""\
usage: barnabas COMMAND [OPTION …]

A Kafka-wire-compatible broker for one machine, and the tools to talk to one.

commands:
{commands}

`barnabas COMMAND --help` describes a command, `barnabas --version` prints the version."""
