"""`barnabas log clean --now`: compact a stopped data directory, or have a running broker compact now."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.output import print_json, print_table
from barnabas.broker.cli.terminal.topic_choice import TopicChoice

if TYPE_CHECKING:
    from barnabas.broker.cli.terminal.client_settings import ClientSettings

FAILED = 1
_HEADER = ("TOPIC", "PARTITION", "STATE", "BYTES", "LEFT", "RECORDS", "LEFT", "SECONDS", "REASON")

Report = Callable[[dict[str, Any]], None]


def run(options: argparse.Namespace) -> int:
    """Clean, show the progress, and print a table at the end. Return 1 if a partition could not be cleaned."""
    rows: list[dict[str, Any]] = []
    is_watched = sys.stderr.isatty()

    def report(event: dict[str, Any]) -> None:
        where = f"{event['topic']}-{event['partition']}"
        if event["state"] != "cleaning":
            rows.append(event)
        elif is_watched:
            print(f"\r{where}: {event['done_bytes'] / 1e6:.0f} MB\x1b[K", end="", file=sys.stderr, flush=True)

    if options.http is not None or options.bootstrap_server is not None:
        from barnabas.broker.cli.control.control_request import found_http
        from barnabas.broker.cli.terminal.client_settings import settings_of

        _ask(found_http(options), settings_of(options), options.partition, report)
    else:
        _clean_stopped(options, report)
    if is_watched:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if options.json:
        print_json(rows)
    else:
        print_table(_HEADER, [_row(each) for each in rows])
    return FAILED if any(each["state"] == "failed" for each in rows) else 0


def _row(event: dict[str, Any]) -> list[object]:
    return [
        event["topic"],
        event["partition"],
        event["state"],
        event["bytes_before"],
        event["bytes_after"],
        event["records_before"],
        event["records_after"],
        f"{event['seconds']:.1f}",
        event["reason"],
    ]


# --- a stopped directory ---


def _clean_stopped(options: argparse.Namespace, report: Report) -> None:
    from barnabas.broker.cli.serving.serve_options import load
    from barnabas.broker.runtime.log_lines import configure
    from barnabas.protocol.files.names import META_PROPERTIES

    given = {"--set": options.set, "--config": options.config}
    if options.data_dir is not None:
        given["--data-dir"] = [options.data_dir]
    config = load({name: words for name, words in given.items() if words}, os.environ).config
    for path in config.data_dirs:
        if not os.path.exists(os.path.join(path, META_PROPERTIES)):
            raise UsageError(f"log clean: {path} is not a data directory: it has no {META_PROPERTIES}")
    configure("warning")
    asyncio.run(_clean(config, options.partition, report))


async def _clean(config: Any, choices: Sequence[TopicChoice], report: Report) -> None:
    from barnabas.broker.config.listeners.listeners import Listener
    from barnabas.broker.network.bound_sockets import BoundAddress
    from barnabas.broker.runtime.workers.helper import helper_processes_max
    from barnabas.broker.server.broker import Broker
    from barnabas.broker.server.data_directories import open_directory
    from barnabas.broker.server.environment import Environment
    from barnabas.protocol.security.listener_protocols import PLAINTEXT
    from barnabas.storage.disk.files import raise_descriptor_limit
    from barnabas.storage.errors import StorageError

    environment = Environment(helper_processes_max=helper_processes_max())
    directory = open_directory(config, environment.files, environment.random, raise_descriptor_limit())
    if not directory.was_clean:
        directory.close(clean=False)
        raise StorageError(directory.path, "was not stopped cleanly: start a broker on it first, which recovers it")
    nowhere = Listener(PLAINTEXT, "127.0.0.1", 1, PLAINTEXT)
    try:
        broker = Broker(
            config, directory, environment, asyncio.get_running_loop(), [BoundAddress(nowhere, nowhere, [])]
        )
    except BaseException:
        directory.close(clean=True)
        raise
    try:
        async for event in events(broker, choices):
            report(event)
    finally:
        await broker.stop()


async def events(broker: Any, choices: Sequence[TopicChoice]) -> AsyncIterator[dict[str, Any]]:
    """Yield the events of `ManualCompaction`. KafkaError for an unknown topic or partition."""
    from barnabas.broker.partitions.cleaning.manual_compaction import ManualCompaction

    services = broker.services
    by_hand = ManualCompaction(
        services.cleaner, services.partitions, services.catalogue, services.config, services.upkeep
    )
    async for event in by_hand.clean(by_hand.keys([(choice.topic, choice.numbers) for choice in choices])):
        yield event._asdict()


# --- a running broker ---


def _ask(address: str, settings: ClientSettings | None, choices: Sequence[TopicChoice], report: Report) -> None:
    from urllib.parse import urlencode

    from barnabas.broker.cli.terminal.http_connection import answered

    query = urlencode([("partition", _as_text(choice)) for choice in choices])
    with answered(address, settings, f"/clean?{query}", method="POST") as answer:
        if answer.status != 200:
            raise UsageError(f"log clean: {answer.read().decode(errors='replace').strip()}")
        for line in answer:
            report(json.loads(line))


def _as_text(choice: TopicChoice) -> str:
    return choice.topic + (":" + ",".join(map(str, choice.numbers)) if choice.numbers else "")
