"""kafka-dump-log."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from barnabas.broker.cli.log import run
from barnabas.broker.cli.terminal.options import Parser

_WITHOUT_EFFECT = ["deep-iteration", "verify-index-only", "index-sanity-check", "offsets-decoder"]
_WITHOUT_EFFECT += ["transaction-log-decoder", "cluster-metadata-decoder", "share-group-state-decoder"]


def kafka_dump_log(arguments: Sequence[str]) -> int:
    """What files of a data directory say: `barnabas log dump`, which knows each by its name."""
    parser = Parser(prog="kafka-dump-log")
    parser.add_argument("--files", required=True)
    parser.add_argument("--print-data-log", action="store_true")
    for flag in _WITHOUT_EFFECT:
        parser.add_argument(f"--{flag}", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    return run(["dump", *options.files.split(","), *(["--records"] if options.print_data_log else [])])
