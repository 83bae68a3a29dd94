"""`barnabas snapshot`: what a broker holds, as a seed in JSON."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import INT32_MAX, Parser, at_most, connected, positive, shared_options
from barnabas.broker.cli.terminal.output import counted, print_json
from barnabas.broker.server.seeding.errors import MISSING_PACKAGES

if TYPE_CHECKING:
    from barnabas.broker.server.seeding.describing import SnapshotSummary

_RECORDS_MAX = 100_000


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    try:
        from barnabas.broker.server.seeding.describing import describe
    except ImportError as missing:
        raise UsageError(f"a snapshot {MISSING_PACKAGES}") from missing
    with connected(options) as client, _complete(options.output) as out:
        described = describe(client, out, options.max_records)
    if options.output is not None:
        _report(options, described)
    if described.users_left_out:
        users = ", ".join(described.users_left_out)
        print(f"barnabas: passwords cannot be read, so these users are left out: {users}", file=sys.stderr)
    if described.groups_left_out:
        print(f"barnabas: share groups are left out: {', '.join(described.groups_left_out)}", file=sys.stderr)
    return 0


@contextmanager
def _complete(path: str | None) -> Iterator[TextIO]:
    """Provide a file to write to; at the end it gets its name, or is printed. A failure leaves no part of it."""
    if path is None:
        text = io.StringIO()
        yield text
        sys.stdout.write(text.getvalue())
        return
    partial = f"{path}.partial"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            yield file
        os.replace(partial, path)
    except BaseException:
        with suppress(FileNotFoundError):  # where it could not be opened
            os.remove(partial)
        raise


def _report(options: argparse.Namespace, described: SnapshotSummary) -> None:
    if options.json:
        print_json(described._asdict())
        return
    counts = ((name, count) for name, count in described._asdict().items() if isinstance(count, int))
    parts = [counted(count, name.removesuffix("s")) for name, count in counts if count]
    print(f"{options.output}: {', '.join(parts) or 'nothing'}")


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    top = Parser(
        prog="barnabas snapshot",
        description="Write what a broker holds as a seed: topics, records, open transactions, offsets, ACLs.",
        parents=shared_options(),
    )
    top.add_argument("--output", metavar="FILE", help="default: stdout")
    top.add_argument(
        "--max-records",
        type=at_most(INT32_MAX, positive),
        default=_RECORDS_MAX,
        metavar="N",
        help=f"the most that a partition may have; more are refused (default {_RECORDS_MAX:,})",
    )
    return top
