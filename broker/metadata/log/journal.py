"""The image and the log from which it is replayed, kept consistent: open, append, shorten by snapshots, close.

Knows when an epoch is opened, the first records of a new directory and the state that a clean stop leaves. Decides
nothing about topics.

Theory of operation: a run is a raft epoch, but a run that changes nothing writes nothing. The first change opens the
epoch with a LeaderChange and, if a killed Kafka left a metadata transaction open, aborts that.

A start reads the newest snapshot and all of the log behind it. So when the log has grown by a limit, or by the size of
the last snapshot, a snapshot of the state at one moment is made in steps. It is started again if something changes
meanwhile, and after some tries not before the log has grown again.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypedDict

from barnabas.broker.config import Listener
from barnabas.broker.metadata.image.features import NEW_LEVELS, initial_records
from barnabas.broker.metadata.image.framing import Change, Encoded, Versioned, encode_record, encoded
from barnabas.broker.metadata.image.image import METADATA_VERSION, SUPPORTED_FEATURES, Image
from barnabas.broker.metadata.image.node_identity import NodeIdentity
from barnabas.broker.metadata.image.topic_changes import Writer
from barnabas.broker.metadata.log.metadata_log import CatalogueError, MetadataLog
from barnabas.broker.metadata.log.quorum import Quorum, read_quorum_state, write_quorum_state
from barnabas.broker.metadata.log.replaying import Replaying, read_bootstrap
from barnabas.broker.metadata.log.snapshot import snapshot
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.scheduler import Work
from barnabas.protocol.files.checkpoints import encode_partition_metadata
from barnabas.protocol.files.names import BOOTSTRAP_CHECKPOINT, PARTITION_METADATA
from barnabas.protocol.log_records.catalogue import (
    AbortTransactionRecord,
    BrokerEndpoint,
    BrokerFeature,
    FeatureLevelRecord,
    RegisterBrokerRecord,
)
from barnabas.protocol.records.builder import NewRecord, build_batch, seal_records
from barnabas.protocol.records.control import control_batch
from barnabas.protocol.security.listener_protocols import PROTOCOLS
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import StorageError
from barnabas.storage.steps import finish

_log = logger("catalogue")

METADATA_TOPIC_ID = bytes(15) + b"\x01"

SNAPSHOT_BYTES_MAX = 1 << 20  # of log behind a snapshot, whatever is configured: a start reads all of it
_TRIES_MAX = 3
_REGISTRATION_VERSIONS = ((30, 4), (17, 3), (8, 2), (0, 1))  # the lowest metadata.version of each


class _Place(TypedDict):
    base_offset: int
    leader_epoch: int


class Journal:
    """The catalogue's log of one data directory, with its image. `epoch` is this run's, opened or not."""

    def __init__(
        self,
        directory: Directory,
        identity: NodeIdentity,
        now_ms: Callable[[], int],
        snapshot_bytes: int,
        *,
        was_clean: bool,
    ) -> None:
        """Read the log into the image. Raise CatalogueError if it is invalid, StorageError if the disk fails.

        snapshot_bytes: a clean stop writes a snapshot if so much log is behind the last one. was_clean: the last run
        ended cleanly.
        """
        self._snapshot_bytes = min(snapshot_bytes, SNAPSHOT_BYTES_MAX)
        self._directory = directory
        self._identity = identity
        self._now_ms = now_ms
        directory.create()
        self._log = MetadataLog(directory, was_clean=was_clean)
        self._quorum = Quorum(identity)
        self._quorum_state = read_quorum_state(directory, identity)
        replaying = Replaying(Image(identity.node_id), self._quorum)
        replaying.run(self._log)
        self.image = replaying.image
        self.carried = replaying.carried
        self._bootstrap = replaying.bootstrap
        self._must_abort = replaying.in_transaction
        before = self._quorum_state.leader_epoch if self._quorum_state else 0
        self.epoch = max(before, self._log.last_epoch) + 1
        self.is_epoch_open = False
        self._begin_snapshot: Callable[[Callable[[], Work[None]]], None] | None = None
        self._next_snapshot_bytes = self._snapshot_bytes  # of log behind the last one
        self._is_snapshot_due = False

    @property
    def end_offset(self) -> int:
        """The offset of the next record: it rises with every change."""
        return self._log.next_offset

    def begin(self, bootstrap: bytes | None, listeners: Iterable[Listener], incarnation_id: bytes) -> None:
        """Write the first records of a catalogue, if there is none yet. Raise StorageError if that fails.

        bootstrap: the content of the `bootstrap.checkpoint` that `kafka-storage.sh format` left, if any. Kafka 4.4
        leaves these records in the first snapshot instead, which has been read already.
        """
        if self.image.metadata_version:
            return
        if self._directory.parent is not None:
            self._directory.parent.sync()
        if not self._directory.exists(PARTITION_METADATA):
            self._directory.write_atomically(PARTITION_METADATA, encode_partition_metadata(METADATA_TOPIC_ID))
        first = self._bootstrap or (read_bootstrap(bootstrap) if bootstrap else initial_records(NEW_LEVELS))
        levels = {record.name: record.feature_level for record in first if isinstance(record, FeatureLevelRecord)}
        if METADATA_VERSION not in levels:
            raise CatalogueError(f"{BOOTSTRAP_CHECKPOINT} does not contain the {METADATA_VERSION} to begin with")
        self._open_epoch()
        registration = self._registration(levels[METADATA_VERSION], listeners, incarnation_id)
        self.commit([*(Versioned(record) for record in first), registration])

    def commit(self, change: Change) -> None:
        """Append the records as one batch, sync it, and replay them. Nothing is changed if StorageError is raised."""
        records, values, area = change if isinstance(change, Encoded) else finish(encoded(change))
        if not records:
            return
        self._open_epoch()
        self._log.append(seal_records(area, len(records), self._now_ms(), **self._place()))
        for record, value in zip(records, values, strict=True):
            self.image.replay(record, self.epoch)
            self.carried.replay(record, value)
        is_long = self._log.bytes_behind_snapshot >= self._next_snapshot_bytes
        if is_long and self._begin_snapshot is not None and not self._is_snapshot_due:
            self._is_snapshot_due = True
            self._begin_snapshot(self._snapshot_in_steps)

    def keep_short(self, begin: Callable[[Callable[[], Work[None]]], None]) -> None:
        """Call `begin` with the steps of a snapshot whenever the log has grown by the limit, to be run a bit at a time.

        A broker that is about to stop lets the steps complete, or cancels them.
        """
        self._begin_snapshot = begin

    @property
    def is_in_thread(self) -> bool:
        """Whether files of the log are being written or removed in a thread."""
        return self._log.is_in_thread

    def close(self) -> None:
        """Write `quorum-state` and `catalogue-end` as a clean stop does, and a snapshot if the log is long.

        Raises StorageError. If only the snapshot cannot be written, the stop is still clean.
        """
        if self.is_epoch_open:
            write_quorum_state(self._directory, self._identity, self.epoch, self._quorum_state)
        if self._log.bytes_behind_snapshot >= self._snapshot_bytes and not self._must_abort:
            self._write_snapshot()
        self._log.note_end()

    def _write_snapshot(self) -> None:
        try:
            self._log.replace_with_snapshot(b"".join(self._snapshot()))
        except StorageError as error:
            _log.warning(line("no snapshot of the catalogue", reason=error))

    def _snapshot_in_steps(self) -> Work[None]:
        grows_by = self._snapshot_bytes
        try:
            for _ in range(_TRIES_MAX):
                content = yield from self._content_in_steps()
                if content is not None:
                    grows_by = max(grows_by, len(content))
                    yield from self._log.replace_in_steps(content)
                    return
        except StorageError as error:
            _log.warning(line("no snapshot of the catalogue", reason=error))
        finally:
            self._next_snapshot_bytes = self._log.bytes_behind_snapshot + grows_by
            self._is_snapshot_due = False

    def _content_in_steps(self) -> Work[bytes | None]:
        """Return the content of a snapshot; None if something changed meanwhile."""
        content, end_offset = bytearray(), self._log.next_offset
        for batch in self._snapshot():
            content += batch
            yield None
            if self._log.next_offset != end_offset:
                return None
        return bytes(content)

    def _snapshot(self) -> Iterator[bytearray]:
        return snapshot(
            Writer(self._identity, self.image, (self._identity.node_id,)),
            self._quorum,
            self.carried,
            _registration_version(self.image.metadata_version),
            epoch=self._log.last_epoch,
            timestamp_ms=self._log.last_timestamp_ms,
        )

    def _open_epoch(self) -> None:
        if not self.is_epoch_open:
            opening = self._quorum.leader_change(with_voters=not self._quorum.has_voters)
            self._log.append(control_batch(opening, timestamp_ms=self._now_ms(), **self._place()))
            self._quorum.has_voters = self.is_epoch_open = True
        if self._must_abort:
            abort = encode_record(Versioned(AbortTransactionRecord(reason="Controller failover")))
            self._log.append(build_batch([NewRecord(None, abort, (), self._now_ms())], **self._place()))
            self._must_abort = False

    def _place(self) -> _Place:
        return {"base_offset": self._log.next_offset, "leader_epoch": self.epoch}

    def _registration(self, level: int, listeners: Iterable[Listener], incarnation_id: bytes) -> Versioned:
        """Return this broker's registration, fenced as after a clean stop: Kafka expects it so in the directory."""
        version = _registration_version(level)
        record = RegisterBrokerRecord(
            broker_id=self._identity.node_id,
            incarnation_id=incarnation_id,
            broker_epoch=self._log.next_offset,
            end_points=[_endpoint(to) for to in listeners],
            features=[
                BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in sorted(SUPPORTED_FEATURES.items())
            ],
            rack=None,
            fenced=True,
            log_dirs=[self._identity.directory_id] if version >= 3 else [],
        )
        return Versioned(record, version)


def _endpoint(to: Listener) -> BrokerEndpoint:
    protocol = PROTOCOLS.index(to.protocol)
    return BrokerEndpoint(name=to.name, host=to.host, port=to.port, security_protocol=protocol)


def _registration_version(level: int) -> int:
    return next(version for lowest, version in _REGISTRATION_VERSIONS if level >= lowest)


def failed(error: StorageError) -> str:
    """Return the error message for a client whose change could not be written to the disk."""
    return f"The change could not be stored: {error}"
