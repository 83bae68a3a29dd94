"""The data directories and their catalogue according to the configuration, and the limits of open files.

Knows the configuration and the needs of a start and of `doctor`; the directories themselves belong to storage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.metadata.catalogue import Catalogue
from barnabas.broker.metadata.catalogue.topic_events import TopicEvents
from barnabas.protocol.files.names import CLUSTER_METADATA_TOPIC, partition_directory
from barnabas.storage.directories.log_directories import LogDirectories

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.runtime.events import Events
    from barnabas.broker.server.environment import Environment
    from barnabas.storage.disk.files import Files

_OTHER_DESCRIPTORS = 48  # the loop's, the lock, checkpoints while written, modules while read, connections of HTTP
_SOCKETS_SHARE = 2  # one descriptor in two is for connections, the others for segments


def open_files_max(descriptor_limit: int) -> int:
    """Return how many segment files may be open at a time under the process's limit of descriptors."""
    return max(16, (descriptor_limit - _OTHER_DESCRIPTORS) // _SOCKETS_SHARE)


def sockets_max(descriptor_limit: int, nodes: int = 1) -> int:
    """Return how many connections each node may have, so that segment files and modules can always be opened.

    `nodes`: the number of nodes in the process, which share its descriptors.
    """
    return max(16, descriptor_limit - open_files_max(descriptor_limit) - _OTHER_DESCRIPTORS) // nodes or 1


def open_directory(
    config: BrokerConfig, files: Files, random_bytes: Callable[[int], bytes], limit: int
) -> LogDirectories:
    """Open the data directories of the configuration. Raise StorageError with the reason if it fails."""
    return LogDirectories.open(
        config.data_dirs,
        files,
        node_id=config.node_id,
        new_id=lambda: random_bytes(16),
        metadata_path=config.metadata_dir,
        cluster_id=config.cluster_id,
        open_files_max=open_files_max(limit),
    )


def open_catalogue(
    config: BrokerConfig, directory: LogDirectories, environment: Environment, events: Events
) -> Catalogue:
    """Open the catalogue in the metadata directory; it places new partitions. Raises CatalogueError, StorageError."""
    catalogue = Catalogue.open(
        directory.root.subdirectory(partition_directory(CLUSTER_METADATA_TOPIC, 0)),
        node_id=directory.meta.node_id,
        directory_id=directory.metadata.directory_id,
        config=config,
        now_ms=environment.clock.now_ms,
        random_bytes=environment.random,
        was_clean=directory.metadata.was_clean,
    )
    catalogue.events = events
    catalogue.subscribe(TopicEvents(events))
    if not directory.is_one:
        catalogue.place_partitions(directory.usable_ids, [each.directory_id for each in directory.members])
    return catalogue


def state_of(directory: LogDirectories) -> str:
    """Return in one word how the previous run left the directories."""
    if directory.was_clean:
        return "stopped"
    return "killed" if directory.partitions else "empty"
