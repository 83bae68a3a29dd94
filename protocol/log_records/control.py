"""The values of control records in `__cluster_metadata-0` and its snapshots.

The key of such a record is a version (i16, 0) and the type (i16) given with each class; the value is the struct. Every
struct begins with its own version as a field. End-of-transaction markers, the control records of ordinary partitions,
are in `protocol/records/control.py`.
"""

from barnabas.protocol.codec.schema import INT16, INT32, INT64, STRING, UINT16, UUID, Stored, array, field
from barnabas.protocol.primitives import ZERO_UUID


class LeaderChangeMessageVoter(Stored):
    voter_id: int = field(INT32)
    voter_directory_id: bytes = field(UUID, versions="1+", default=ZERO_UUID)


class LeaderChangeMessage(Stored, versions="0-1", flexible="0+"):
    """Type 2. The first record of every epoch of the quorum."""

    version: int = field(INT16)
    leader_id: int = field(INT32)
    voters: list[LeaderChangeMessageVoter] = field(array(LeaderChangeMessageVoter))
    granting_voters: list[LeaderChangeMessageVoter] = field(array(LeaderChangeMessageVoter))


class SnapshotHeaderRecord(Stored, versions="0", flexible="0+"):
    """Type 3. The first record of a snapshot."""

    version: int = field(INT16)
    last_contained_log_timestamp: int = field(INT64)


class SnapshotFooterRecord(Stored, versions="0", flexible="0+"):
    """Type 4. The last record of a snapshot."""

    version: int = field(INT16)


class KRaftVersionRecord(Stored, versions="0", flexible="0+"):
    """Type 5. The feature level kraft.version."""

    version: int = field(INT16)
    k_raft_version: int = field(INT16)


class Endpoint(Stored):
    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)


class KRaftVersionFeature(Stored):
    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


class VotersRecordVoter(Stored):
    voter_id: int = field(INT32)
    voter_directory_id: bytes = field(UUID)
    endpoints: list[Endpoint] = field(array(Endpoint))
    k_raft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature)


class VotersRecord(Stored, versions="0", flexible="0+"):
    """Type 6. The voters, by id and directory id."""

    version: int = field(INT16)
    voters: list[VotersRecordVoter] = field(array(VotersRecordVoter))
