"""`barnabas snapshot`: what a broker holds, as a seed in JSON."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import INT32_MAX, Parser, at_most, connected, positive, shared_options
from barnabas.broker.cli.terminal.output import counted, print_json
from barnabas.broker.server.seeding.errors import MISSING_PACKAGES

_RECORDS_MAX = 100_000


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    try:
        from barnabas.broker.server.seeding.describing import SnapshotSummary, describe
    except ImportError as missing:
        raise UsageError(f"a snapshot {MISSING_PACKAGES}") from missing
    with connected(options) as client:
        if options.output is None:
            text = io.StringIO()  # so that a failure leaves no part of a document on stdout
            described: SnapshotSummary = describe(client, text, options.max_records)
            sys.stdout.write(text.getvalue())
            _report_left_out(described)
            return 0
        partial = f"{options.output}.partial"
        try:
            with open(partial, "w", encoding="utf-8") as out:
                described = describe(client, out, options.max_records)
            os.replace(partial, options.output)
        except BaseException:
            with suppress(FileNotFoundError):  # where it could not be opened
                os.remove(partial)
            raise
    counts = {name: count for name, count in described._asdict().items() if isinstance(count, int)}
    if options.json:
        print_json(described._asdict())
    else:
        parts = [counted(count, name.removesuffix("s")) for name, count in counts.items() if count]
        print(f"{options.output}: {', '.join(parts) or 'nothing'}")
    _report_left_out(described)
    return 0


def _report_left_out(described: object) -> None:
    users, groups = getattr(described, "users_left_out", []), getattr(described, "groups_left_out", [])
    if users:
        print(f"barnabas: passwords cannot be read, so these users are left out: {', '.join(users)}", file=sys.stderr)
    if groups:
        print(f"barnabas: share groups are left out: {', '.join(groups)}", file=sys.stderr)


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
