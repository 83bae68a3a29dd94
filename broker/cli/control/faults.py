"""`barnabas faults`: list, arm, wait, release, disarm, reset, points. For a broker started with --control."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from barnabas.broker.cli.control.control_request import ask, where_options
from barnabas.broker.cli.terminal.options import Parser
from barnabas.broker.cli.terminal.output import print_json

_PATH = "/control/faults"
_PLAN_BYTES_MAX = 1 << 20
"""The maximum read of a plan: the broker refuses one above its own limit, and names that limit."""


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    status: int = options.do(options)
    return status


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    top = Parser(
        prog="barnabas faults",
        description="Arm faults in a running broker: for tests. The broker needs --control.",
        parents=[where_options("faults")],
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parents = [where_options("faults", again=True)]

    def add(name: str, do: Any, text: str) -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = commands.add_parser(name, parents=parents, help=text)
        command.set_defaults(do=do)
        return command

    add("list", _list, "the armed faults, and how often each matched and fired")
    add("arm", _arm, "arm a plan").add_argument("plan", metavar="FILE", help="a JSON file; - for stdin")
    wait = add("wait", _wait, "return when a fault has fired, or a request waits at its pause")
    wait.add_argument("name", metavar="NAME")
    wait.add_argument(
        "--times", default="1", metavar="N", help="how often it must fire, or how many must wait (default 1)"
    )
    wait.add_argument("--standing", action="store_true", help="return when N wait at its pause")
    wait.add_argument(
        "--timeout", default="10s", metavar="TIME", help="the longest wait: 10s (the default), 60s at most"
    )
    add("release", _release, "resume what waits at its pause").add_argument("name", metavar="NAME")
    add("disarm", _disarm, "disarm one fault").add_argument("name", metavar="NAME")
    reset = add("reset", _reset, "disarm all faults")
    reset.add_argument(
        "--all-fired", action="store_true", help="exit with 1 if a fault did not fire as often as its plan says"
    )
    add("points", _points, "the named steps at which a fault may crash or pause the broker, or have a write fail")
    return top


def _list(options: argparse.Namespace) -> int:
    return _show(options, _ask(options, _PATH))


def _arm(options: argparse.Namespace) -> int:
    return _show(options, _ask(options, _PATH, _read(options.plan)))


def _wait(options: argparse.Namespace) -> int:
    what = "wait_standing" if options.standing else "wait_fired"
    query = urlencode({what: options.times, "timeout": options.timeout})
    return _show(options, _ask(options, f"{_one(options)}?{query}"))


def _release(options: argparse.Namespace) -> int:
    return _show(options, _ask(options, f"{_one(options)}/release", {}))


def _disarm(options: argparse.Namespace) -> int:
    return _show(options, _ask(options, _one(options), method="DELETE"))


def _reset(options: argparse.Namespace) -> int:
    answer = _ask(options, _PATH, method="DELETE")
    _show(options, answer)
    if not options.all_fired or not answer["unfired"]:
        return 0
    print(f"barnabas: faults: did not fire as often as the plan says: {', '.join(answer['unfired'])}", file=sys.stderr)
    return 1


def _points(options: argparse.Namespace) -> int:
    """Print the points of this release, without asking a broker."""
    from barnabas.broker.control.faults.plan.of_points import points

    kinds = points().values()
    if options.json:
        print_json(
            [
                {
                    "point": kind.name,
                    "what": kind.what,
                    "facts": list(kind.facts),
                    "crash": kind.may_crash,
                    "pause": kind.may_pause,
                    "error": kind.may_fail,
                }
                for kind in kinds
            ]
        )
        return 0
    width = max((len(kind.name) for kind in kinds), default=0)
    for kind in kinds:
        print(f"{kind.name:{width}}  {', '.join(kind.actions):19}  {kind.what} ({', '.join(kind.facts)})")
    return 0


def _ask(options: argparse.Namespace, path: str, change: Any = None, method: str | None = None) -> dict[str, Any]:
    return ask(options, path, change, method=method)


def _one(options: argparse.Namespace) -> str:
    return f"{_PATH}/{quote(options.name, safe='')}"


def _read(path: str) -> bytes:
    """Return the bytes of a file, or of stdin. OSError."""
    if path == "-":
        return sys.stdin.buffer.read(_PLAN_BYTES_MAX)
    with open(path, "rb") as file:
        return file.read(_PLAN_BYTES_MAX)


def _show(options: argparse.Namespace, answer: dict[str, Any]) -> int:
    if options.json:
        print_json(answer)
        return 0
    for each in answer.get("faults", [answer]):
        times = each["times"]
        standing = f", {each['standing']} standing" if each["standing"] else ""
        how = f"fired {each['fired']} of {times} times" if times != "always" else f"fired {each['fired']} times"
        what = f"{json.dumps(each['match'])} {json.dumps(each['do'])}"
        print(f"{each['name']}: {how}, matched {each['matched']}{standing}: {what}")
    return 0
