"""The data directories of a broker, `log.dirs`: each partition lies in one of them, and each fails independently.

Knows which directory has which partition; log_directory.py handles one directory. The metadata directory holds the
catalogue, and may be one in which no partitions lie (`metadata.log.dir`).

Theory of operation: every directory has its own lock, owner, checkpoints and marker, so that one of them can fail, be
added or be removed while the others continue. A directory that cannot be used when the broker starts is left out, with
its partitions; only the metadata directory is required. Contradictions are refused before anything is changed:
directories of different clusters, copies, a partition in two of them. All of this as in Apache Kafka.

Invariants: a partition has at most one live directory; all directories have the metadata directory's cluster; no two
have one id.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import meta_properties, names
from barnabas.protocol.files.meta_properties import MetaProperties
from barnabas.protocol.primitives import uuid_text
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.log_directory import LogDirectory
from barnabas.storage.disk.checkpoints import TopicPartition
from barnabas.storage.disk.deletion import Removing
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import OPEN_FILES_MAX, Disk
from barnabas.storage.disk.files import CommonSync, Files
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import DirectoryOffline, LockedError, NotADataDirectory, StorageError
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.recovery.opening import Opening


class Checkpoint:
    """The checkpoints of several directories, to be written in any thread; passed back to `end_checkpoint`."""

    def __init__(self, jobs: Sequence[tuple[LogDirectory, SyncJob]]) -> None:
        self._jobs = jobs
        self._errors: dict[LogDirectory, StorageError] = {}

    def run(self) -> None:
        """Write all of them, even if some fail. Raise the first StorageError."""
        for directory, job in self._jobs:
            try:
                job.run()
            except StorageError as error:
                self._errors[directory] = error
        if self._errors:
            raise next(iter(self._errors.values()))

    def end(self) -> None:
        """Finish the jobs on the owner's thread."""
        for directory, job in self._jobs:
            directory.end_checkpoint(job, self._errors.get(directory))


class LogDirectories:
    """The open data directories. Built by `open`, or of one directory; ended by `close`, also after a failure."""

    def __init__(
        self,
        members: Sequence[LogDirectory],
        metadata: LogDirectory | None = None,
        failed: Mapping[str, str] | None = None,
    ) -> None:
        """Take the open directories: `members` hold partitions. `failed`: paths of unusable ones, with the reason."""
        self.members = members
        self.metadata = metadata or members[0]
        self.failed = failed or {}
        self.when_rolls: Callable[[str, int, bool], None] | None = None
        """See `Roller.when_rolls`: for all logs that are opened after it is set."""
        self.every = [self.metadata, *(each for each in members if each is not self.metadata)]

    @classmethod
    def open(
        cls,
        paths: Sequence[str],
        files: Files,
        *,
        node_id: int,
        new_id: Callable[[], bytes],
        metadata_path: str | None = None,
        cluster_id: str | None = None,
        open_files_max: int = OPEN_FILES_MAX,
    ) -> LogDirectories:
        """Open the directories, as LogDirectory.open. `metadata_path`: the first unless given.

        LockedError, NotADataDirectory and StorageError say what is wrong.
        """
        every = list({os.path.abspath(path): path for path in (metadata_path or paths[0], *paths)}.values())
        first = every[0]
        descriptors_max = max(4, open_files_max // len(every))
        known = _known_cluster(files, every) if len(every) > 1 else None
        opened: dict[str, LogDirectory] = {}
        failed: dict[str, str] = {}
        try:
            for path in every:
                try:
                    found = LogDirectory.open(
                        path,
                        files,
                        node_id=node_id,
                        new_id=new_id,
                        cluster_id=known or cluster_id,
                        open_files_max=descriptors_max,
                        begin=False,
                    )
                except StorageError as error:
                    if path == first or not _is_failure(files, path, error):
                        raise
                    failed[path] = str(error)
                    continue
                opened[os.path.abspath(path)] = found
                known = known or found.meta.cluster_id
                _check_member(found, opened.values(), opened[os.path.abspath(first)])
            members = {os.path.abspath(path): None for path in paths}
            directories = cls(
                [opened[path] for path in members if path in opened], opened[os.path.abspath(first)], failed
            )
            directories._check_claims()
            if len(every) > 1 and cluster_id not in (None, known):
                directories.metadata.notices.append(
                    f"{first} belongs to cluster {known}; the cluster id {cluster_id} is ignored"
                )
            for found in directories.every:
                found.begin()
        except BaseException:
            for found in opened.values():
                with suppress(StorageError):  # the first error is raised
                    found.give_up()
            raise
        return directories

    # --- the directories ---

    @property
    def path(self) -> str:
        """The paths of the directories, for messages."""
        return ",".join(each.path for each in self.every)

    @property
    def meta(self) -> MetaProperties:
        """The properties of the metadata directory."""
        return self.metadata.meta

    @property
    def root(self) -> Directory:
        """The metadata directory itself, which holds the catalogue."""
        return self.metadata.root

    @property
    def was_clean(self) -> bool:
        """Whether the last run ended cleanly in all of them."""
        return all(each.was_clean for each in self.every)

    @property
    def notices(self) -> list[str]:
        """Messages for the operator of the broker."""
        failed = [f"{path} is offline until restart, with its partitions: {why}" for path, why in self.failed.items()]
        return [notice for each in self.every for notice in each.notices] + failed

    @property
    def is_one(self) -> bool:
        """Whether exactly one directory is configured, and usable."""
        return len(self.every) == 1 and not self.failed

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """Every partition that has a directory."""
        if len(self.members) == 1:
            return self.members[0].partitions
        return frozenset().union(*(each.partitions for each in self.members))

    @property
    def offline_reason(self) -> str | None:
        """The reason why the broker cannot continue: the metadata directory or all others failed. Or None."""
        if self.metadata.offline_reason is not None or all(each.offline_reason is not None for each in self.members):
            return self.metadata.offline_reason or self.members[0].offline_reason
        return None

    @property
    def offline_count(self) -> int:
        """The number of failed directories."""
        return len(self.failed) + sum(each.offline_reason is not None for each in self.every)

    @property
    def common_sync(self) -> CommonSync | None:
        """The common sync of many files; None with several directories."""
        return self.members[0].common_sync if self.is_one else None

    def usable_ids(self) -> list[bytes]:
        """Return the ids of the directories that new partitions may be put in, in order. Full ones only if all are."""
        usable = [each for each in self.members if each.offline_reason is None]
        with_room = [each for each in usable if each.root.disk.full_reason is None]
        return [each.directory_id for each in with_room or usable]

    def at(self, path: str) -> LogDirectory | None:
        """Return the directory with this absolute path; None if there is none, or it failed when the broker started."""
        return next((each for each in self.members if os.path.abspath(each.path) == path), None)

    def home(self, topic: str, partition: int) -> LogDirectory | None:
        """Return the directory that holds the partition; None if none does yet."""
        key = topic, partition
        for each in self.members:
            if each.has(key):
                return each
        return None

    def missed_by(self, topic: str, partition: int) -> LogDirectory | None:
        """Return the directory whose checkpoints have the partition, which has no directory; None if there is none."""
        for each in self.members:
            if each.resting.is_missing((topic, partition)):
                return each
        return None

    def place(self, topic: str, partition: int, directory_id: bytes) -> LogDirectory:
        """Return the directory of the partition, or the one to create it in by its id. DirectoryOffline if that failed.

        directory_id: the id in the catalogue; empty if it has none. With several directories it is then the one with
        the fewest partitions, but only if all directories are usable: the partition may lie in one that is not.
        """
        found = self.home(topic, partition)
        if found is not None:
            return found
        if not directory_id and (missed := self.missed_by(topic, partition)) is not None:
            return missed
        if not directory_id and not self.offline_count:
            return min(self.members, key=lambda each: len(each.partitions))
        for each in self.members:
            if each.directory_id == directory_id or (not directory_id and self.is_one):
                return each
        raise DirectoryOffline(
            f"{topic}-{partition}", f"its data directory, with directory.id {uuid_text(directory_id)}, is missing"
        )

    # --- partitions ---

    def is_unrecovered(self, topic: str, partition: int) -> bool:
        """Return whether the partition has not been checked since the last unclean stop."""
        return any(each.recovered.is_awaited((topic, partition)) for each in self.members)

    @property
    def unrecovered(self) -> list[TopicPartition]:
        """The partitions that have not been checked since the last unclean stop, sorted."""
        return sorted(key for each in self.members for key in each.unrecovered)

    def size_of(self, topic: str, partition: int) -> int:
        """Return the result of RestingLogs.size_of."""
        return self._home(topic, partition).resting.size_of(topic, partition)

    def resting(self, topic: str, partition: int) -> tuple[int, int, int, int] | None:
        """Return the result of RestingLogs.summary."""
        return self._home(topic, partition).resting.summary(topic, partition)

    def resting_end(self, topic: str, partition: int) -> int | None:
        """Return the result of RestingLogs.end."""
        return self._home(topic, partition).resting.end(topic, partition)

    def opening(
        self, topic: str, partition: int, topic_id: bytes, config: LogConfig, now_ms: int, directory_id: bytes = b""
    ) -> Opening[PartitionLog]:
        """Return LogDirectory.opening, in the directory that `place` finds. StorageError."""
        return self._with_roll_callback(
            self.place(topic, partition, directory_id).opening(topic, partition, topic_id, config, now_ms)
        )

    def _with_roll_callback(self, opening: Opening[PartitionLog]) -> Opening[PartitionLog]:
        log = yield from opening
        if self.when_rolls is not None:
            log.observe_rolls(self.when_rolls)
        return log

    def close_log(self, topic: str, partition: int) -> None:
        """Call LogDirectory.close_log."""
        self._home(topic, partition).close_log(topic, partition)

    def delete_log(self, topic: str, partition: int, unique: bytes, due_ms: int) -> None:
        """Call LogDirectory.delete_log, and remove the partition's rows from all other directories."""
        self._home(topic, partition).delete_log(topic, partition, unique, due_ms)
        for each in self.members:
            if each.resting.is_missing((topic, partition)):
                each.forget((topic, partition))

    def set_aside(self, topic: str, partition: int) -> None:
        """Call LogDirectory.set_aside."""
        self._home(topic, partition).set_aside(topic, partition)

    def removing(self, now_ms: int) -> Removing:
        """Return Deletions.removing of all usable directories. Raise the first StorageError at the end."""
        failures = []
        for each in self.members:
            if each.offline_reason is None:
                try:
                    yield from each.deletions.removing(now_ms)
                except StorageError as failure:
                    failures.append(failure)
        if failures:
            raise failures[0]

    # --- checkpoints ---

    def begin_checkpoint(self) -> Checkpoint | None:
        """Return LogDirectory.begin_checkpoint of all usable directories."""
        working = [each for each in self.members if each.offline_reason is None]
        jobs = [(each, job) for each in working if (job := each.begin_checkpoint()) is not None]
        return Checkpoint(jobs) if jobs else None

    def end_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Finish a checkpoint after it has run."""
        checkpoint.end()

    def close(self, *, clean: bool, broker_epoch: int = -1, leave_marker: bool = True) -> None:
        """Call LogDirectory.close for each, even if some fail. Raise the first StorageError."""
        failures = []
        for each in self.every:
            try:
                each.close(clean=clean, broker_epoch=broker_epoch, leave_marker=leave_marker)
            except StorageError as failure:
                failures.append(failure)
        if failures:
            raise failures[0]

    def give_up(self) -> None:
        """Call LogDirectory.give_up for each."""
        for each in self.every:
            each.give_up()

    # --- helpers ---

    def _home(self, topic: str, partition: int) -> LogDirectory:
        """Return the partition's directory; any one for a partition that has none and never had."""
        return self.home(topic, partition) or self.missed_by(topic, partition) or self.members[0]

    def _check_claims(self) -> None:
        claimed: dict[TopicPartition, LogDirectory] = {}
        for each in self.every:
            for key in each.partitions:
                if key[0] == names.CLUSTER_METADATA_TOPIC and each is not self.metadata:
                    raise NotADataDirectory(
                        each.path, f"contains the metadata log, which is expected in {self.metadata.path}"
                    )
                other = claimed.setdefault(key, each)
                if other is not each:
                    raise NotADataDirectory(
                        each.path,
                        f"has partition {key[0]}-{key[1]}, and so has {other.path}: remove one of the two, "
                        "in the directory that has failed recently",
                    )


def _known_cluster(files: Files, paths: Iterable[str]) -> str | None:
    """Return the cluster id of the first directory that has one; empty directories join that cluster."""
    for path in paths:
        with suppress(StorageError, DecodeError):  # reported where the directory is opened
            data = Directory(Disk(files, path), path).read(names.META_PROPERTIES)
            if data is not None:
                return meta_properties.decode(data).cluster_id
    return None


def _is_failure(files: Files, path: str, error: StorageError) -> bool:
    """Return whether the disk failed, not its content. A file in a directory's place is a failure, too."""
    if isinstance(error, LockedError):
        return False
    if not isinstance(error, NotADataDirectory):
        return True
    try:
        files.entries(path)
    except OSError:
        return True
    return False


def _check_member(found: LogDirectory, opened: Iterable[LogDirectory], metadata: LogDirectory) -> None:
    """Raise NotADataDirectory for a directory of another cluster, and for a copy."""
    if found.meta.cluster_id != metadata.meta.cluster_id:
        raise NotADataDirectory(
            found.path, f"belongs to cluster {found.meta.cluster_id}, and {metadata.path} to {metadata.meta.cluster_id}"
        )
    for other in opened:
        if other is not found and other.directory_id == found.directory_id:
            raise NotADataDirectory(
                found.path, f"has the directory.id of {other.path}, {uuid_text(found.directory_id)}: one is a copy"
            )
