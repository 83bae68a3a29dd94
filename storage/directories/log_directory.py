"""A data directory: its lock, its owner, the state of its partitions, and the logs opened in this run.

Knows partitions by name; storage/log/log.py handles their content. docs/formats/data-directory.md shows the files.

Theory of operation: starting and stopping costs in proportion to the partitions a run uses, not to those on the disk. A
partition is opened when it is first requested. Its checkpoints are stored over runs in which it is not opened: its
recovery point was its log end when it was last closed, so even if a later run is killed there is nothing to recover in
it. Whether the last run ended cleanly is read once, at the start, from a marker that is deleted before any log is
changed. It is written again, last, only if every partition on the disk is then known to be whole: Apache Kafka trusts
it for all of them.

With a lost directory acknowledged records are lost: a partition that has a recovery point and no
directory is missing, and refused. So code that removes a directory first removes its rows, or leaves a `-delete`
directory that a start finds as long as there may be rows.

Invariants: one process at a time holds the lock; the marker never exists while a log may be changed; a partition's rows
never outlive its directory's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from weakref import WeakValueDictionary

from barnabas.protocol.files import checkpoints as formats
from barnabas.protocol.files import names
from barnabas.protocol.files.meta_properties import MetaProperties
from barnabas.storage.config import LogConfig
from barnabas.storage.directories.data_root import (
    lock_root,
    open_root,
    read_meta_properties,
    take_inventory,
    write_meta_properties,
)
from barnabas.storage.directories.log_checkpoints import LogCheckpoints
from barnabas.storage.directories.partition_metadata import read_topic_id, write_topic_id
from barnabas.storage.directories.recovered_logs import RecoveredLogs
from barnabas.storage.directories.unopened_logs import UnopenedLogs
from barnabas.storage.disk.checkpoints import TopicPartition
from barnabas.storage.disk.deletion import Deletions
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import OPEN_FILES_MAX, Disk
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.disk.files import CommonSync, Files, Lock, Volume
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import StorageError
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.recovery.opening import Opening, open_at_once


class LogDirectory:
    """An open data directory. Built by `open`; ended by `close`, also after a failure."""

    def __init__(
        self, root: Directory, lock: Lock, meta: MetaProperties, new_id: Callable[[], bytes], *, was_clean: bool
    ) -> None:
        inventory = take_inventory(root)
        self.path = root.path
        self.meta = meta
        self.was_clean = was_clean
        self.is_new = False  # whether it was empty before this run
        self._is_made = False
        self.notices = inventory.notices
        self.futures = [(key, root.subdirectory(name)) for key, name in inventory.futures]
        """Copies of partitions that were being moved here."""
        self.deletions = Deletions()
        self._root = root
        self._lock = lock
        self._new_id = new_id
        self._live = inventory.live
        self._unrecovered = set() if was_clean else inventory.live - {(names.CLUSTER_METADATA_TOPIC, 0)}
        self._gone: set[TopicPartition] = set()  # whose old directory could come back in a power cut
        self._being_opened: set[TopicPartition] = set()
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._directories: WeakValueDictionary[TopicPartition, Directory] = WeakValueDictionary()
        """One object per partition while it is referenced: a rename is seen by code that removes files in it later."""
        self.checkpoints = LogCheckpoints(root)
        self.recovered = RecoveredLogs(root, self.checkpoints, self._unrecovered)
        self.resting = UnopenedLogs(
            root, self._live, self._logs, self.checkpoints, lambda key: was_clean or key in self.recovered
        )
        for key, name in inventory.given_up:
            if key not in self._live:
                self.checkpoints.forget(key)
            self._remove_at(0, key, root.subdirectory(name))

    @classmethod
    def open(
        cls,
        path: str,
        files: Files,
        *,
        node_id: int,
        new_id: Callable[[], bytes],
        cluster_id: str | None = None,
        open_files_max: int = OPEN_FILES_MAX,
        begin: bool = True,
    ) -> LogDirectory:
        """Open the directory, or create one at a path that is missing or empty. `new_id` draws 16 random bytes.

        cluster_id: the cluster of a new directory; an existing one keeps its own, with a notice. begin: False for a
        caller that calls `begin` itself, or closes it unchanged. LockedError, NotADataDirectory and StorageError
        describe the problem in a sentence.
        """
        root, is_made = open_root(Disk(files, path, open_files_max=open_files_max))
        lock = lock_root(root)
        try:
            root.disk.open_common_sync()
            meta, is_new = read_meta_properties(root, node_id, new_id, cluster_id)
            directory = cls(root, lock, meta, new_id, was_clean=root.exists(names.CLEAN_SHUTDOWN))
            directory.is_new, directory._is_made = is_new, is_made
            if cluster_id not in (None, meta.cluster_id):
                ignored = f"the cluster id {cluster_id} is ignored"
                directory.notices.append(f"{path} belongs to cluster {meta.cluster_id}; {ignored}")
            if begin:
                directory.begin()
            return directory
        except BaseException:
            root.disk.close()
            lock.release()
            raise

    def begin(self) -> None:
        """Remove the clean-stop marker before anything is changed, and sync the directory. StorageError."""
        self._root.remove(names.CLEAN_SHUTDOWN)  # this late, because a refused start changes nothing
        self._root.sync()  # also names that a killed run did not sync: this run takes them as durable
        if self.was_clean and not self.meta.tells_log_starts:  # a clean stop wrote the leader epochs
            self.meta = write_meta_properties(self._root, self.meta._replace(tells_log_starts=True))

    # --- logs ---

    @property
    def directory_id(self) -> bytes:
        """The directory id, 16 bytes."""
        assert self.meta.directory_id is not None, "a directory is given an id when it is opened"
        return self.meta.directory_id

    def has(self, key: TopicPartition) -> bool:
        """Return whether the partition has a directory in it."""
        return key in self._live

    @property
    def root(self) -> Directory:
        """The directory itself, for files other than the logs opened here: the catalogue."""
        return self._root

    @property
    def logs(self) -> Mapping[TopicPartition, PartitionLog]:
        """The logs opened in this run."""
        return MappingProxyType(self._logs)

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """Every partition that has a directory."""
        return frozenset(self._live)

    @property
    def unrecovered(self) -> frozenset[TopicPartition]:
        """Partitions not checked since the last unclean stop; while there are any, a stop leaves no marker."""
        return frozenset(self._unrecovered)

    @property
    def common_sync(self) -> CommonSync | None:
        """The common sync of many files of the directory, until it is closed; None if the system has no such call."""
        return self._root.disk.common_sync

    @property
    def offline_reason(self) -> str | None:
        """The reason why the directory may not be used any more, None while it works."""
        return self._root.disk.offline_reason

    def volume(self) -> Volume:
        """Return the space of the file system the directory is on. StorageError."""
        return self._root.volume()

    def open_log(self, topic: str, partition: int, topic_id: bytes, config: LogConfig, now_ms: int) -> PartitionLog:
        """Return the partition's log: run `opening` at once, however long it takes."""
        return open_at_once(self.opening(topic, partition, topic_id, config, now_ms))

    def opening(
        self, topic: str, partition: int, topic_id: bytes, config: LogConfig, now_ms: int
    ) -> Opening[PartitionLog]:
        """Open the partition's log; created if there is none, recovered if the last stop was not clean. StorageError.

        A directory of another topic of the same name (deleted, but a kill or a power cut kept its directory) is set
        aside first. There is one opening of a partition at a time; the owner closes it before the partition is deleted.
        """
        key = topic, partition
        if (log := self._logs.get(key)) is not None:
            return log
        assert key not in self._being_opened, f"{topic}-{partition} is being opened already"
        self._being_opened.add(key)
        try:
            log, directory = yield from self._opening(key, topic_id, config, now_ms)
        finally:
            self._being_opened.discard(key)
        self._unrecovered.discard(key)
        self._logs[key] = log
        self._directories[key] = directory
        return log

    def _opening(
        self, key: TopicPartition, topic_id: bytes, config: LogConfig, now_ms: int
    ) -> Opening[tuple[PartitionLog, Directory]]:
        from barnabas.storage.recovery.log_loader import load_log  # not at the start: it opens no log
        from barnabas.storage.recovery.missing_files import check_directory

        topic, partition = key
        self._root.disk.check_online()
        directory = self.directory_of(key)
        if key in self._live and (found := read_topic_id(directory, topic_id)) != topic_id:
            if found is None:
                write_topic_id(directory, topic_id)
            else:
                self.set_aside(topic, partition)
                directory = self.directory_of(key)
        if key not in self._live:
            check_directory(directory.path, self.checkpoints.recovery_point(key))
            self._make_room(key)
            directory.create()
            write_topic_id(directory, topic_id)
            self._live.add(key)
        self._unrecovered.add(key)  # until it is open: after a failure below its content is unknown
        checkpoint = self.recovered.checkpoint(key, was_clean=self.was_clean, meta=self.meta)
        loaded = yield from load_log(directory, config, checkpoint, now_ms)
        log = PartitionLog(directory, topic, partition, topic_id, config, loaded, checkpoint, self.deletions)
        return log, directory

    def close_log(self, topic: str, partition: int) -> None:
        """Close a log cleanly and forget it until it is opened again: for a caller that only reads it once.

        Nothing happens if it is not open. StorageError leaves it open.
        """
        key = topic, partition
        if (log := self._logs.get(key)) is None:
            return
        log.close()
        self.recovered.note(key, log)
        del self._logs[key]

    def delete_log(self, topic: str, partition: int, unique: bytes, due_ms: int) -> None:
        """Rename a partition's directory now and remove it from the disk at `due_ms`. `unique` is 16 random bytes.

        If its directory is missing, its rows are removed: it is not missing any more. StorageError.
        """
        gone = names.PartitionDirectory(topic, partition, names.DirectoryState.DELETE, unique.hex())
        log = self._logs.get((topic, partition))
        if (directory := self._take_away(gone)) is not None:
            self._remove_at(due_ms, (topic, partition), directory, log.files if log is not None else ())
        elif self.resting.is_missing((topic, partition)):
            self.forget((topic, partition))

    def forget(self, *keys: TopicPartition) -> None:
        """Remove the rows of partitions that have no directory, or will have none. Durable on return. StorageError."""
        self.checkpoints.forget_durably(*keys)

    def set_aside(self, topic: str, partition: int) -> None:
        """Rename a directory that is not in the catalogue to `-stray`, as Kafka does: preserved, never read again."""
        if self.has((topic, partition)):
            self.forget((topic, partition))
        stray = names.PartitionDirectory(topic, partition, names.DirectoryState.STRAY, self._new_id().hex())
        if (directory := self._take_away(stray)) is not None:
            self.notices.append(f"{directory.path} is set aside: the catalogue does not know it")

    # --- checkpoints ---

    def begin_checkpoint(self) -> SyncJob | None:
        """Return a job that writes the changes of the checkpoints, None without changes. It may run in a thread.

        Pass it to `end_checkpoint` afterwards.
        """
        self.checkpoints.note(self._logs)
        return self.checkpoints.write_job()

    def end_checkpoint(self, job: SyncJob, error: StorageError | None = None) -> None:
        """Finish a checkpoint after the job has run; `error` is the error it raised."""
        if error is None:
            job.finish()
        else:
            job.failed(error)

    def close(self, *, clean: bool, broker_epoch: int = -1, leave_marker: bool = True) -> None:
        """Close the directory; `clean` syncs all logs that were used and leaves the marker if every partition is whole.

        Without `leave_marker` there is no marker: the caller has unfinished work that a start after a kill checks for.
        StorageError if that failed: then there is no marker, and the next start recovers. The lock is always released.
        """
        try:
            if clean and self.offline_reason is None:
                self._close_cleanly(broker_epoch, leave_marker)
        finally:
            self.checkpoints.give_up()
            for log in self._logs.values():
                log.abandon()
            self._root.disk.close()
            with suppress(OSError):  # the name may stay, as after a kill; the lock itself is released anyway
                self._lock.release()

    def give_up(self) -> None:
        """Undo a start that failed before it was complete: files in a directory that was empty are removed again."""
        try:
            if self.is_new and self.offline_reason is None:
                for entry in self._root.entries():
                    if entry.is_directory:
                        self._root.subdirectory(entry.name).remove_tree()
                    elif entry.name != names.LOCK:
                        self._root.remove(entry.name)
        finally:
            self.close(clean=False)
        if self._is_made:
            with suppress(OSError):  # another process has already put a file in
                self._root.disk.files.rmdir(self.path)

    # --- moving between directories: storage/directories/log_move.py ---

    def directory_of(self, key: TopicPartition) -> Directory:
        """Return the partition's directory, which need not exist yet: the same object while it is referenced."""
        found = self._directories.get(key)
        if found is None:
            found = self._directories[key] = self._root.subdirectory(names.partition_directory(*key))
        return found

    def expect(self, key: TopicPartition, source: LogDirectory) -> None:
        """Prepare for a partition that comes from another directory, where it is closed: its rows are copied.

        Durable on return. Time indexes that are not trusted there are not trusted here. StorageError.
        """
        self._make_room(key)
        self.checkpoints.take_over(key, source.checkpoints)
        self.checkpoints.write()
        if self.meta.tells_all_times and not source.meta.tells_all_times:
            self.meta = write_meta_properties(self._root, self.meta._replace(tells_all_times=False))

    def take_in(self, key: TopicPartition, future: Directory) -> None:
        """Make the directory `future` the partition's live directory. Durable on return. StorageError."""
        future.move_to(names.partition_directory(*key))
        self._root.sync()
        self._live.add(key)

    def drop(self, key: TopicPartition, future: Directory) -> None:
        """Remove a copy that is not used, with the next deletions: by the next start, Kafka's too, at the latest."""
        if key not in self._live:
            self.checkpoints.forget(key)
        with suppress(StorageError):  # else it is removed under its old name, which Kafka would keep
            future.move_to(names.deleted(future.path.rpartition("/")[2]))
        self._remove_at(0, key, future)

    # --- helpers ---

    def _remove_at(
        self, due_ms: int, key: TopicPartition, directory: Directory, files: Iterable[DiskFile] = ()
    ) -> None:
        """Schedule a deletion; its name shows that it is deleted while there may be rows of the partition."""
        self.deletions.schedule(due_ms, directory, files=files, before_last=lambda: self._forget_gone(key))

    def _forget_gone(self, key: TopicPartition) -> SyncJob | None:
        return None if key in self._live else self.checkpoints.forget_job(key)

    def _take_away(self, target: names.PartitionDirectory) -> Directory | None:
        """Rename a partition's live directory, and remove its rows. None if there is none."""
        key = target.topic, target.partition
        if key not in self._live:
            return None
        directory = self.directory_of(key)
        if (log := self._logs.pop(key, None)) is not None:
            log.abandon()
        directory.move_to(target.name)
        del self._directories[key]
        self._live.discard(key)
        self._unrecovered.discard(key)
        self._gone.add(key)
        self.recovered.forget(key)
        self.checkpoints.forget(key)
        return directory

    def _make_room(self, key: TopicPartition) -> None:
        """Ensure before a new directory that no older one of the same name can come back, nor its rows."""
        if key in self._gone:
            self._root.sync()
            self._gone.clear()
        self.checkpoints.forget_durably(key)

    def _close_cleanly(self, broker_epoch: int, leave_marker: bool) -> None:
        failures: list[StorageError] = []
        for log in self._logs.values():
            try:
                log.close()
            except StorageError as failure:
                failures.append(failure)
        if failures:
            raise failures[0]
        self.checkpoints.note(self._logs)
        self.checkpoints.write()
        if self._root.is_dirty:
            self._root.sync()
        if leave_marker and not self._unrecovered:
            self._root.write_atomically(names.CLEAN_SHUTDOWN, formats.encode_clean_shutdown(broker_epoch))
