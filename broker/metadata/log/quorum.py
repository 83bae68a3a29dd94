"""The Raft side of the catalogue's log: a quorum of one. Epochs, leader changes, the voter in control records.

Also the checks of requests that change the voters, before they are refused.

A run of the broker is an epoch: the last one in the log or in `quorum-state` plus one, opened by a LeaderChange
before its first record. Kafka identifies a voter by its id *and* its data directory's id, so both must be in the log.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from barnabas.broker.metadata.image.node_identity import NodeIdentity
from barnabas.broker.metadata.log.metadata_log import CatalogueError
from barnabas.protocol.codec.compile import codec
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.protocol.files import quorum_state
from barnabas.protocol.files.names import QUORUM_STATE
from barnabas.protocol.files.quorum_state import QuorumState
from barnabas.protocol.log_records.control import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeMessageVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    VotersRecordVoter,
)
from barnabas.protocol.primitives import ZERO_UUID, uuid_text
from barnabas.protocol.records.control import ControlRecordType, parse_control_key
from barnabas.protocol.records.record import BatchRecord
from barnabas.storage.disk.directory import Directory

KRAFT_VERSION = 1  # voters by directory id, in the log (KIP-853)
CONTROLLER_LISTENER = "CONTROLLER"
"""The listener at which voters would find each other; it is not opened here."""
_CONTROLLER_PORT = 9093  # not used: Kafka replaces it by its own when it starts

ControlRecord = tuple[ControlRecordType, bytes]


class Leadership(NamedTuple):
    """The state of the quorum, of which this node is the leader and the only voter."""

    node_id: int
    directory_id: bytes
    epoch: int
    """The epoch of this run, opened in the log or not."""
    end_offset: int
    """The end of the log; all of it is on the disk."""


class Quorum:
    """The state of the quorum according to the control records read so far."""

    def __init__(self, identity: NodeIdentity) -> None:
        self._identity = identity
        self._voters: list[tuple[int, bytes]] | None = None
        self._leaders_voters: list[int] = []
        self.has_voters = False

    def observe(self, record: BatchRecord) -> None:
        """Read one control record. Its voters are valid until the next record that names voters."""
        kind = parse_control_key(record.key)
        if kind is ControlRecordType.KRAFT_VOTERS:
            voters, _ = codec(VotersRecord, 0).decode(_value(record))
            self._voters = [(voter.voter_id, voter.voter_directory_id) for voter in voters.voters]
        elif kind is ControlRecordType.LEADER_CHANGE:
            self._leaders_voters = [voter.voter_id for voter in _read_leader_change(_value(record)).voters]

    def check(self) -> None:
        """Check the voters, after the last control record. Raise CatalogueError if they include another node."""
        if self._voters is not None:
            if self._voters != [tuple(self._identity)]:
                named = ", ".join(f"node {each} in directory {uuid_text(where)}" for each, where in self._voters)
                mine = f"node {self._identity.node_id} in directory {uuid_text(self._identity.directory_id)}"
                raise CatalogueError(f"the voters in this directory's catalogue are {named}, but this is {mine}")
            self.has_voters = True
        elif set(self._leaders_voters) - {self._identity.node_id}:
            named = ", ".join(map(str, self._leaders_voters))
            raise CatalogueError(
                f"the voters in this directory's catalogue are the nodes {named}, but this is {self._identity.node_id}"
            )

    def leader_change(self, *, with_voters: bool) -> list[ControlRecord]:
        """Return the control records that open an epoch, with the voters if no log or snapshot has them yet."""
        return list(_leader_change(self._identity, with_voters))

    def snapshot_header(self, timestamp_ms: int) -> list[ControlRecord]:
        """Return the first control records of a snapshot; `timestamp_ms` is that of the last batch it replaces."""
        header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=timestamp_ms)
        voters = _voters(self._identity) if self.has_voters else ()
        return [(ControlRecordType.SNAPSHOT_HEADER, codec(SnapshotHeaderRecord, 0).encode(header)), *voters]


def _value(record: BatchRecord) -> bytes:
    if record.value is None:
        raise DecodeError("a control record of the quorum without a value")
    return record.value


def _read_leader_change(value: bytes) -> LeaderChangeMessage:
    version = int.from_bytes(value[:2], "big")
    try:
        known = codec(LeaderChangeMessage, version)
    except ValueError as unknown:
        raise DecodeError(f"LeaderChange version {version} is not known") from unknown
    return known.decode(value)[0]


def _leader_change(identity: NodeIdentity, with_voters: bool) -> Iterable[ControlRecord]:
    me = LeaderChangeMessageVoter(voter_id=identity.node_id)
    change = LeaderChangeMessage(version=0, leader_id=identity.node_id, voters=[me], granting_voters=[me])
    yield ControlRecordType.LEADER_CHANGE, codec(LeaderChangeMessage, 0).encode(change)
    if with_voters:
        yield from _voters(identity)


def _voters(identity: NodeIdentity) -> Iterable[ControlRecord]:
    version = KRaftVersionRecord(version=0, k_raft_version=KRAFT_VERSION)
    yield ControlRecordType.KRAFT_VERSION, codec(KRaftVersionRecord, 0).encode(version)
    voter = VotersRecordVoter(
        voter_id=identity.node_id,
        voter_directory_id=identity.directory_id,
        endpoints=[Endpoint(name=CONTROLLER_LISTENER, host="localhost", port=_CONTROLLER_PORT)],
        k_raft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=KRAFT_VERSION),
    )
    voters = VotersRecord(version=0, voters=[voter])
    yield ControlRecordType.KRAFT_VOTERS, codec(VotersRecord, 0).encode(voters)


def snapshot_footer() -> list[ControlRecord]:
    """Return the control record that ends a snapshot."""
    return [(ControlRecordType.SNAPSHOT_FOOTER, codec(SnapshotFooterRecord, 0).encode(SnapshotFooterRecord(version=0)))]


class NamesVoter(Protocol):
    """The fields of AddRaftVoter and RemoveRaftVoter that identify a voter."""

    cluster_id: str | None
    voter_id: int
    voter_directory_id: bytes


def check_voter(request: NamesVoter, cluster_id: str, without_voter: str) -> None:
    """Raise KafkaError unless the request is for this cluster, if it names one, and names a voter.

    `without_voter`: the error message if it names none.
    """
    if request.cluster_id not in (None, cluster_id):
        raise KafkaError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{cluster_id}"',
        )
    if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, without_voter)


def voter_text(node_id: int, directory_id: bytes) -> str:
    """Return a voter's text as Kafka formats it: with its id and that of its data directory."""
    return f"ReplicaKey(id={node_id}, directoryId={uuid_text(directory_id)})"


def read_quorum_state(directory: Directory, identity: NodeIdentity) -> QuorumState | None:
    """Return the file's content, or None. Raise CatalogueError if it is damaged or names several voters."""
    data = directory.read(QUORUM_STATE)
    if data is None:
        return None
    try:
        state = quorum_state.decode(data)
    except DecodeError as damaged:
        raise CatalogueError(f"{directory.path_of(QUORUM_STATE)}: {damaged}") from damaged
    if state.voters and set(state.voters) != {identity.node_id}:
        raise CatalogueError(f"{directory.path_of(QUORUM_STATE)} names the voters {state.voters}: not a single node")
    return state


def write_quorum_state(directory: Directory, identity: NodeIdentity, epoch: int, before: QuorumState | None) -> None:
    """Write that this node led `epoch`, in the format version that the file had."""
    state = QuorumState(identity.node_id, epoch)
    if before is not None and before.data_version == 0:
        state = state._replace(data_version=0, voters=(identity.node_id,))
    directory.write_atomically(QUORUM_STATE, quorum_state.encode(state))
