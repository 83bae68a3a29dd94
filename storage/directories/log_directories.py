"""The data directories of a broker, `log.dirs`: each partition lies in one of them, and each fails for itself.

Knows which directory has which partition; what a directory is, is log_directory.py's. The metadata directory holds the
catalogue, and may be one in which no partitions lie (`metadata.log.dir`).

Theory of operation: every directory has its own lock, owner, checkpoints and marker, so that one of them can fail, be
added or be taken away while the others go on. A directory that cannot be used when the broker starts is left out, with
its partitions; only the metadata directory has to be there. What contradicts itself is refused before anything is
changed: directories of different clusters, copies, a partition in two of them. All of it as in Apache Kafka.

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
    """The checkpoints of several directories, to be written in any thread; handed back to `end_checkpoint`."""

    def __init__(self, jobs: Sequence[tuple[LogDirectory, SyncJob]]) -> None:
        self._jobs = jobs
        self._errors: dict[LogDirectory, StorageError] = {}

    def run(self) -> None:
        """Write them, each whatever becomes of the others. StorageError: the first."""
        for directory, job in self._jobs:
            try:
                job.run()
            except StorageError as error:
                self._errors[directory] = error
        if self._errors:
            raise next(iter(self._errors.values()))

    def end(self) -> None:
        """On the owner's thread."""
        for directory, job in self._jobs:
            directory.end_checkpoint(job, self._errors.get(directory))


class LogDirectories:
    """The open data directories. Built by `open`, or of one; ended by `close`, also after a failure."""

    def __init__(
        self,
        members: Sequence[LogDirectory],
        metadata: LogDirectory | None = None,
        failed: Mapping[str, str] | None = None,
    ) -> None:
        """`members` hold partitions. `failed`: why a directory that should be one cannot be used, by its path."""
        self.members = members
        self.metadata = metadata or members[0]
        self.failed = failed or {}
        self.when_rolls: Callable[[str, int, bool], None] | None = None
        """As `Roller.when_rolls`, of all logs that are opened from when it is set."""
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
        """Take the directories over; as LogDirectory.open. `metadata_path`: the first unless given.

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
                    f"{first} belongs to cluster {known} and stays so, not {cluster_id}"
                )
            for found in directories.every:
                found.begin()
        except BaseException:
            for found in opened.values():
                with suppress(StorageError):
                    found.give_up()
            raise
        return directories

    # --- what there is ---

    @property
    def path(self) -> str:
        """Where the directories are, for people."""
        return ",".join(each.path for each in self.every)

    @property
    def meta(self) -> MetaProperties:
        """Whose directories these are: the metadata directory's."""
        return self.metadata.meta

    @property
    def root(self) -> Directory:
        """The metadata directory itself, in which the catalogue lies."""
        return self.metadata.root

    @property
    def was_clean(self) -> bool:
        """Whether the last run ended cleanly in all of them."""
        return all(each.was_clean for each in self.every)

    @property
    def notices(self) -> list[str]:
        """What whoever runs the broker should know."""
        failed = [f"{path} is offline until restart, with its partitions: {why}" for path, why in self.failed.items()]
        return [notice for each in self.every for notice in each.notices] + failed

    @property
    def is_one(self) -> bool:
        """Whether there is one directory and should be."""
        return len(self.every) == 1 and not self.failed

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """Every partition that has a directory."""
        if len(self.members) == 1:
            return self.members[0].partitions
        return frozenset().union(*(each.partitions for each in self.members))

    @property
    def offline_reason(self) -> str | None:
        """Why the broker cannot go on: the catalogue's directory has failed, or there is no other. None if it can."""
        if self.metadata.offline_reason is not None or all(each.offline_reason is not None for each in self.members):
            return self.metadata.offline_reason or self.members[0].offline_reason
        return None

    @property
    def offline_count(self) -> int:
        """How many have failed."""
        return len(self.failed) + sum(each.offline_reason is not None for each in self.every)

    @property
    def common_sync(self) -> CommonSync | None:
        """What syncs many files at a time; None where they lie in several directories."""
        return self.members[0].common_sync if self.is_one else None

    def usable_ids(self) -> list[bytes]:
        """The ids of the directories that new partitions may be put in, in order. Full ones only if all are."""
        usable = [each for each in self.members if each.offline_reason is None]
        with_room = [each for each in usable if each.root.disk.full_reason is None]
        return [each.directory_id for each in with_room or usable]

    def at(self, path: str) -> LogDirectory | None:
        """The directory with this absolute path; None if there is none, or it failed when the broker started."""
        return next((each for each in self.members if os.path.abspath(each.path) == path), None)

    def home(self, topic: str, partition: int) -> LogDirectory | None:
        """The directory in which the partition lies; None if it has none yet."""
        key = topic, partition
        for each in self.members:
            if each.has(key):
                return each
        return None

    def missed_by(self, topic: str, partition: int) -> LogDirectory | None:
        """Where the partition, which has no home, should lie by the checkpoints there; None if there is none."""
        for each in self.members:
            if each.resting.is_missing((topic, partition)):
                return each
        return None

    def place(self, topic: str, partition: int, directory_id: bytes) -> LogDirectory:
        """Where the partition lies, or is to be made: in the directory of that id. DirectoryOffline if that is gone.

        directory_id: what the catalogue says; empty if it says nothing. With several directories it then is where the
        fewest partitions lie, but only if all directories are there: it may lie in one that is not.
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
            f"{topic}-{partition}", f"its data directory, with directory.id {uuid_text(directory_id)}, is not there"
        )

    # --- partitions ---

    def is_unrecovered(self, topic: str, partition: int) -> bool:
        """Whether nobody has looked into the partition since the last kill."""
        return any(each.recovered.is_awaited((topic, partition)) for each in self.members)

    @property
    def unrecovered(self) -> list[TopicPartition]:
        """The partitions nobody has looked into since the last kill, sorted."""
        return sorted(key for each in self.members for key in each.unrecovered)

    def size_of(self, topic: str, partition: int) -> int:
        """RestingLogs.size_of."""
        return self._home(topic, partition).resting.size_of(topic, partition)

    def resting(self, topic: str, partition: int) -> tuple[int, int, int, int] | None:
        """RestingLogs.summary."""
        return self._home(topic, partition).resting.summary(topic, partition)

    def resting_end(self, topic: str, partition: int) -> int | None:
        """RestingLogs.end."""
        return self._home(topic, partition).resting.end(topic, partition)

    def opening(
        self, topic: str, partition: int, topic_id: bytes, config: LogConfig, now_ms: int, directory_id: bytes = b""
    ) -> Opening[PartitionLog]:
        """LogDirectory.opening, in the directory that `place` finds. StorageError."""
        return self._told(
            self.place(topic, partition, directory_id).opening(topic, partition, topic_id, config, now_ms)
        )

    def _told(self, opening: Opening[PartitionLog]) -> Opening[PartitionLog]:
        log = yield from opening
        if self.when_rolls is not None:
            log.tell_of_rolls(self.when_rolls)
        return log

    def close_log(self, topic: str, partition: int) -> None:
        """LogDirectory.close_log."""
        self._home(topic, partition).close_log(topic, partition)

    def delete_log(self, topic: str, partition: int, unique: bytes, due_ms: int) -> None:
        """LogDirectory.delete_log; nor is it missed in any other."""
        self._home(topic, partition).delete_log(topic, partition, unique, due_ms)
        for each in self.members:
            if each.resting.is_missing((topic, partition)):
                each.forget((topic, partition))

    def set_aside(self, topic: str, partition: int) -> None:
        """LogDirectory.set_aside."""
        self._home(topic, partition).set_aside(topic, partition)

    def removing(self, now_ms: int) -> Removing:
        """Deletions.removing, of all that work. StorageError, in the end: the first."""
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
        """LogDirectory.begin_checkpoint, of all that work."""
        working = [each for each in self.members if each.offline_reason is None]
        jobs = [(each, job) for each in working if (job := each.begin_checkpoint()) is not None]
        return Checkpoint(jobs) if jobs else None

    def end_checkpoint(self, checkpoint: Checkpoint) -> None:
        """After it has run."""
        checkpoint.end()

    def close(self, *, clean: bool, broker_epoch: int = -1, leave_marker: bool = True) -> None:
        """LogDirectory.close of each, whatever becomes of the others. StorageError: the first."""
        failures = []
        for each in self.every:
            try:
                each.close(clean=clean, broker_epoch=broker_epoch, leave_marker=leave_marker)
            except StorageError as failure:
                failures.append(failure)
        if failures:
            raise failures[0]

    def give_up(self) -> None:
        """LogDirectory.give_up of each."""
        for each in self.every:
            each.give_up()

    # --- helpers ---

    def _home(self, topic: str, partition: int) -> LogDirectory:
        """Any directory will do for a partition that has none and never had."""
        return self.home(topic, partition) or self.missed_by(topic, partition) or self.members[0]

    def _check_claims(self) -> None:
        claimed: dict[TopicPartition, LogDirectory] = {}
        for each in self.every:
            for key in each.partitions:
                if key[0] == names.CLUSTER_METADATA_TOPIC and each is not self.metadata:
                    raise NotADataDirectory(
                        each.path, f"has the metadata log in it, which is looked for in {self.metadata.path}"
                    )
                other = claimed.setdefault(key, each)
                if other is not each:
                    raise NotADataDirectory(
                        each.path,
                        f"has partition {key[0]}-{key[1]}, and so has {other.path}: remove one of the two, "
                        "that of the directory that has failed recently",
                    )


def _known_cluster(files: Files, paths: Iterable[str]) -> str | None:
    """The cluster of the first directory that has one already: those that are empty join it."""
    for path in paths:
        with suppress(StorageError, DecodeError):
            data = Directory(Disk(files, path), path).read(names.META_PROPERTIES)
            if data is not None:
                return meta_properties.decode(data).cluster_id
    return None


def _is_failure(files: Files, path: str, error: StorageError) -> bool:
    """Whether the disk failed, and not what is on it is wrong. A file in the place of a directory is a failure, too."""
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
    """NotADataDirectory for one of another cluster, and for a copy."""
    if found.meta.cluster_id != metadata.meta.cluster_id:
        raise NotADataDirectory(
            found.path, f"belongs to cluster {found.meta.cluster_id}, and {metadata.path} to {metadata.meta.cluster_id}"
        )
    for other in opened:
        if other is not found and other.directory_id == found.directory_id:
            raise NotADataDirectory(
                found.path, f"has the directory.id of {other.path}, {uuid_text(found.directory_id)}: one is a copy"
            )
