"""quorum-state: the last known vote and leader of a node of the metadata quorum, one line of JSON.

Version 1 (kraft.version 1) has leaderId, leaderEpoch, votedId, votedDirectoryId. Version 0 has clusterId, leaderId,
leaderEpoch, votedId, appliedOffset, currentVoters. A field of the other version, or one missing, is an error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import ZERO_UUID, uuid_bytes, uuid_text

_FIELDS = {
    0: {"clusterId", "leaderId", "leaderEpoch", "votedId", "appliedOffset", "currentVoters"},
    1: {"leaderId", "leaderEpoch", "votedId", "votedDirectoryId"},
}


class QuorumState(NamedTuple):
    """Leader and vote of `leader_epoch`; -1 for none. `voters` (ids) is only in version 0 and may be None there."""

    leader_id: int
    leader_epoch: int
    voted_id: int = -1
    voted_directory_id: bytes = ZERO_UUID
    data_version: int = 1
    voters: tuple[int, ...] | None = None


def encode(state: QuorumState) -> bytes:
    """Return the whole file, in the state's own version."""
    import json

    fields: dict[str, Any]
    if state.data_version == 0:
        voters = None if state.voters is None else [{"voterId": voter} for voter in state.voters]
        fields = {"clusterId": "", "leaderId": state.leader_id, "leaderEpoch": state.leader_epoch}
        fields |= {"votedId": state.voted_id, "appliedOffset": 0, "currentVoters": voters, "data_version": 0}
    else:
        fields = {"leaderId": state.leader_id, "leaderEpoch": state.leader_epoch, "votedId": state.voted_id}
        fields |= {"votedDirectoryId": uuid_text(state.voted_directory_id), "data_version": 1}
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(data: bytes) -> QuorumState:
    """Return the content of the file; DecodeError for anything other than one of the two versions."""
    import json

    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"quorum-state is not JSON: {error}") from error
    if not isinstance(fields, dict) or fields.get("data_version") not in (0, 1):
        raise DecodeError(f"quorum-state has no known data_version: {fields!r}")
    version = fields.pop("data_version")
    if set(fields) != _FIELDS[version]:
        raise DecodeError(f"quorum-state version {version} with the fields {sorted(fields)}")
    state = QuorumState(
        leader_id=_number(fields["leaderId"]),
        leader_epoch=_number(fields["leaderEpoch"]),
        voted_id=_number(fields["votedId"]),
        data_version=version,
    )
    if version == 1:
        return state._replace(voted_directory_id=_directory_id(fields["votedDirectoryId"]))
    return state._replace(voters=_voters(fields["currentVoters"]))


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise DecodeError(f"quorum-state: {value!r} is not a number")
    return value


def _directory_id(value: object) -> bytes:
    try:
        return uuid_bytes(str(value))
    except ValueError as error:
        raise DecodeError(f"quorum-state: votedDirectoryId: {error}") from error


def _voters(value: object) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(voter, dict) for voter in value):
        raise DecodeError(f"quorum-state: currentVoters {value!r}")
    return tuple(_number(voter.get("voterId")) for voter in value)
