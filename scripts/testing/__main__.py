"""Run the groups of tests, each with what it needs, and end with a table that hides nothing: scripts/test."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import replace

from scripts.testing.changed import select
from scripts.testing.groups import COMPILED, GROUPS, PURE, ROOT, Group
from scripts.testing.results import print_table
from scripts.testing.running import HANGS_AFTER_S, LONG_HANGS_AFTER_S, Depth, run_all
from scripts.testing.stress import stress


def family(group: Group) -> str:
    """Return the name of a group on the command line: `fast` for both Pythons, `compiled` for the rest of it."""
    return group.name.partition("-3.")[0].removesuffix("-all")


NAMES = tuple(dict.fromkeys(map(family, GROUPS)))


def main(arguments: list[str]) -> int:
    options, for_pytest = parse(arguments)
    groups = changed(options.changed) if options.changed else chosen(options)
    if options.stress:
        return stress(groups, for_pytest, options.stress)
    started = time.monotonic()
    hangs_after_s = LONG_HANGS_AFTER_S if options.long else HANGS_AFTER_S
    depth = Depth(is_long=options.long, arguments=for_pytest, hangs_after_s=hangs_after_s)
    rows = run_all(groups, depth)
    waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)
    print_table(rows, time.monotonic() - started, waited_for.ru_utime + waited_for.ru_stime)
    return 0 if all(row.is_good for row in rows) else 1


def parse(arguments: list[str]) -> tuple[argparse.Namespace, tuple[str, ...]]:
    """Return the options, and pytest's arguments."""
    own, for_pytest = arguments, []
    if "--" in arguments:
        split = arguments.index("--")
        own, for_pytest = arguments[:split], arguments[split + 1 :]
    parser = argparse.ArgumentParser(
        prog="scripts/test", description="Run Barnabas's tests.", epilog="What follows -- is passed on to pytest."
    )
    parser.add_argument("group", nargs="*", help=f"any of {', '.join(NAMES)}; all of them when none is named")
    changed_help = "run the fast tests that are likeliest to show what differs from REV, by default HEAD"
    parser.add_argument("--changed", nargs="?", const="HEAD", metavar="REV", help=changed_help)
    parser.add_argument("--long", action="store_true", help="run only the tests that other runs leave out")
    parser.add_argument(
        "--form", choices=(PURE, COMPILED), help="the form of the hot modules, instead of the group's own"
    )
    parser.add_argument("--stress", type=int, metavar="N", help="run each group N times beside four busy processes")
    options = parser.parse_args(own)
    for name in options.group:
        if name not in NAMES:
            parser.error(f"no group {name!r}: there are {', '.join(NAMES)}")
    return options, tuple(for_pytest)


def chosen(options: argparse.Namespace) -> list[Group]:
    """Return the groups to run, in the requested form. Coverage does not see compiled modules."""
    named = [group for group in GROUPS if not options.group or family(group) in options.group]
    groups = [group for group in named if options.long or not group.is_left_out]
    if not options.form:
        return groups
    other = [replace(group, form=options.form, marks="", is_measured=False) for group in groups]
    return list({(group.name, group.form): group for group in other}.values())


def changed(revision: str) -> list[Group]:
    """Return what to run for what differs from `revision`, and print what is left out."""
    selection = select(ROOT, revision)
    print("\n".join(selection.describe()), flush=True)
    return selection.to_run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
