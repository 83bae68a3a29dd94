"""The checks of a data directory's root at start: that it is one, of this node, and unused; and its partitions.

The rules are Apache Kafka's, so that a directory Barnabas accepts is one Kafka accepts: foreign files are ignored,
foreign directories are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import meta_properties, names
from barnabas.protocol.files.meta_properties import MetaProperties
from barnabas.protocol.primitives import uuid_text
from barnabas.storage.disk.checkpoints import TopicPartition
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import Lock, LockHeld
from barnabas.storage.errors import LockedError, NotADataDirectory, from_os_error

_EXEMPT = "remote-log-index-cache"  # Kafka's tiered storage keeps it here
_OWN_LEFTOVERS = frozenset({names.LOCK, names.META_PROPERTIES + names.TEMPORARY_SUFFIX})


class Inventory(NamedTuple):
    """The content of a root.

    given_up: partitions whose deletion was not finished, with the names of their directories. futures: partitions that
    are being moved into this directory, with the names of their copies.
    """

    live: set[TopicPartition]
    given_up: list[tuple[TopicPartition, str]]
    notices: list[str]
    futures: list[tuple[TopicPartition, str]]


def open_root(disk: Disk) -> tuple[Directory, bool]:
    """Return the root, created with its parents if it does not exist; and whether it was created."""
    root = Directory(disk, disk.path)
    try:
        disk.files.stat(disk.path)
    except FileNotFoundError:
        _make_path(disk, disk.path)
        return root, True
    except OSError as error:
        raise from_os_error(disk.path, "inspect the directory", error) from error
    return root, False


def lock_root(root: Directory) -> Lock:
    """Lock out every other process. Raise LockedError with the pid of the process that holds the lock."""
    path = root.path_of(names.LOCK)
    try:
        return root.disk.files.lock(path)
    except LockHeld as held:
        raise LockedError(root.path, held.pid) from held
    except NotADirectoryError as error:
        raise NotADataDirectory(root.path, "is a file, not a directory") from error
    except OSError as error:
        raise from_os_error(path, "lock", error) from error


def read_meta_properties(
    root: Directory, node_id: int, new_id: Callable[[], bytes], cluster_id: str | None = None
) -> tuple[MetaProperties, bool]:
    """Return the properties of the directory, and whether it is new: written if empty, completed if the id is missing.

    cluster_id: the cluster of a new directory; a random one if it is None.
    """
    data = root.read(names.META_PROPERTIES)
    is_new = data is None
    if data is None:
        present = {entry.name for entry in root.entries()} - _OWN_LEFTOVERS
        if present:
            raise NotADataDirectory(
                root.path, f"not empty, and without {names.META_PROPERTIES} not a data directory: {min(present)}"
            )
        meta = MetaProperties(
            cluster_id or uuid_text(_draw_id(new_id)),
            node_id,
            _draw_id(new_id),
            tells_all_times=True,
            tells_log_starts=True,
        )
    else:
        try:
            meta = meta_properties.decode(data)
        except DecodeError as error:
            raise NotADataDirectory(root.path, str(error)) from error
        if meta.node_id != node_id:
            raise NotADataDirectory(root.path, f"belongs to node.id {meta.node_id}, but this is {node_id}")
        if meta.directory_id is not None:
            return meta, False
        meta = meta._replace(directory_id=_draw_id(new_id))
    return write_meta_properties(root, meta), is_new


def write_meta_properties(root: Directory, meta: MetaProperties) -> MetaProperties:
    """Replace the file, synced. Return `meta`. StorageError."""
    root.write_atomically(names.META_PROPERTIES, meta_properties.encode(meta))
    return meta


def take_inventory(root: Directory) -> Inventory:
    """List all directories by the kind that their names show; NotADataDirectory for an unknown name."""
    inventory = Inventory(set(), [], [], [])
    for entry in root.entries():
        if not entry.is_directory or entry.name == _EXEMPT:
            continue
        found = names.parse_partition_directory(entry.name)
        if found is None:
            raise NotADataDirectory(
                root.path, f"the directory {entry.name} in it is not a partition; Apache Kafka would not start either"
            )
        match found.state:
            case names.DirectoryState.LIVE:
                inventory.live.add((found.topic, found.partition))
            case names.DirectoryState.DELETE:
                inventory.given_up.append(((found.topic, found.partition), entry.name))
            case names.DirectoryState.FUTURE:
                inventory.futures.append(((found.topic, found.partition), entry.name))
            case names.DirectoryState.STRAY:
                inventory.notices.append(f"{root.path_of(entry.name)} is left unchanged")
    return inventory


def _draw_id(new_id: Callable[[], bytes]) -> bytes:
    """Return a random id that Kafka accepts: not reserved, and its text does not start with a dash."""
    while True:
        drawn = new_id()
        if not meta_properties.is_reserved_directory_id(drawn) and not uuid_text(drawn).startswith("-"):
            return drawn


def _make_path(disk: Disk, path: str) -> None:
    """Create a directory and its parents, each durable in its parent."""
    parent = path.rstrip("/").rpartition("/")[0] or ("/" if path.startswith("/") else ".")
    try:
        try:
            disk.files.mkdir(path)
        except FileNotFoundError:
            if _exists(disk, parent):  # such as /proc, in which nothing can be created
                raise
            _make_path(disk, parent)
            disk.files.mkdir(path)
        disk.files.sync_directory(parent)
    except OSError as error:
        raise from_os_error(path, "create the directory", error) from error


def _exists(disk: Disk, path: str) -> bool:
    try:
        disk.files.stat(path)
    except FileNotFoundError:
        return False
    return True
