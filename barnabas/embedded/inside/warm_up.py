"""The work of a broker at its start and at its first requests, done once ahead: imports, and codecs that are compiled.

A process that is forked from a warm one has all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from tempfile import TemporaryDirectory

_COORDINATORS = (
    "barnabas.broker.coordinator.group.group_coordinator",
    "barnabas.broker.coordinator.transaction.transaction_coordinator",
    "barnabas.broker.coordinator.runtime.topic",
)
_LISTENING = (
    "barnabas.broker.api.stages.tracing",
    "barnabas.broker.coordinator.events.groups",
    "barnabas.broker.coordinator.events.transactions",
)
_LAZY = ("barnabas.client.consume.decoding", "concurrent.futures.thread", "shutil")


def warm_up() -> Iterator[str]:
    """Yield a step for each thing done; the caller may do something else in between."""
    _write_a_catalogue()
    yield "a catalogue"
    from barnabas.broker.api.api_table import API_TABLE
    from barnabas.protocol.registry import request_codec, response_codec

    for row in API_TABLE:
        import_module(f"barnabas.broker.api.handlers.{row.handler}")
        request_codec(row.key, row.max_version)
        response_codec(row.key, row.max_version)
        yield row.handler
    for name in (*_COORDINATORS, *_LISTENING, *_LAZY):
        import_module(name)
        yield name


def _write_a_catalogue() -> None:
    """Write a catalogue, to make the codecs of its records, and those of the data directory's own files."""
    import os

    from barnabas.broker.config.load import load_config
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.server.data_directories import open_directory
    from barnabas.protocol.files.names import CLUSTER_METADATA_TOPIC, partition_directory
    from barnabas.storage.disk.files import RealFiles

    with TemporaryDirectory(prefix="barnabas-") as path:
        config = load_config(flags={"log.dirs": os.path.join(path, "data")}).config
        directory = open_directory(config, RealFiles(), os.urandom, 256)
        catalogue = Catalogue.open(
            directory.root.subdirectory(partition_directory(CLUSTER_METADATA_TOPIC, 0)),
            node_id=directory.meta.node_id,
            directory_id=directory.metadata.directory_id,
            config=config,
            now_ms=lambda: 0,
            random_bytes=os.urandom,
        )
        catalogue.create_topic("warm-up", 1, {})
        catalogue.close()
        directory.close(clean=True)
