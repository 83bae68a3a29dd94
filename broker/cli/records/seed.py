"""`barnabas seed`: bring what a seed has, from schemas to ACLs, to a running broker."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import (
    Parser,
    add_registry_option,
    connected,
    shared_options,
    take_word_of_registry,
)
from barnabas.broker.cli.terminal.output import counted, print_json, report
from barnabas.broker.server.seeding.errors import MISSING_PACKAGES

if TYPE_CHECKING:
    from barnabas.broker.server.seeding.schemas import SchemaStore


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    take_word_of_registry(options, "file")
    if options.schema == (options.file is not None):
        raise UsageError("seed: name the file of a seed, or --schema")
    try:
        from barnabas.broker.server.seeding.applying import apply
        from barnabas.broker.server.seeding.document import json_schema
        from barnabas.broker.server.seeding.reading import read_file

        if options.schema:
            print_json(json_schema())
            return 0
        source = read_file(options.file)
    except ImportError as missing:
        raise UsageError(f"a seed {MISSING_PACKAGES}") from missing
    with connected(options) as client:
        applied = apply(client, source, _registry(options) if source.seed.schemas else None)
    parts = [counted(count, name.removesuffix("s")) for name, count in applied._asdict().items() if count]
    report(options, applied._asdict(), f"{options.file}: applied {', '.join(parts) or 'nothing'}")
    return 0


def _registry(options: argparse.Namespace) -> SchemaStore:
    """Return the registry of a seed with schemas. UsageError."""
    from barnabas.broker.cli.records.registry_store import RegistryStore
    from barnabas.broker.cli.terminal.registry_api import registry_api

    return RegistryStore(registry_api(options))


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    top = Parser(
        prog="barnabas seed",
        description="Create the topics of a seed, and write its records, transactions, offsets, users and ACLs.",
        parents=shared_options(),
    )
    top.add_argument("file", metavar="FILE", nargs="?", help="the seed, in YAML or JSON")
    top.add_argument("--schema", action="store_true", help="print the JSON Schema of a seed")
    add_registry_option(top, "the registry that gets the schemas of the seed")
    return top
