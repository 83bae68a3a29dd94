"""Bugs of the group coordinator: who owns what, and whose offsets count."""

from tests.simulation.planted.planting import bug

BUGS = (
    bug(
        "offsets told that a transaction may change",
        "OffsetFetch does not wait for open transactions.",
        "broker/handlers/offset_fetch.py",
        "    unstable = found.unstable if require_stable else ()\n",
        "    unstable: tuple[tuple[str, int], ...] = ()\n",
        seeds=300,
    ),
    bug(
        "a zombie's offsets in a transaction",
        "TxnOffsetCommit takes any generation.",
        "broker/coordinator/group/offsets/offsets.py",
        "    return group.check_generation(request.member_id, request.group_instance_id, request.generation_id)\n",
        "    return ErrorCode.NONE\n",
        seeds=300,
    ),
    bug(
        "a zombie's offsets",
        "OffsetCommit takes any generation.",
        "broker/coordinator/group/offsets/offsets.py",
        "    error = group.check_generation(request.member_id, request.group_instance_id, request.generation_id)\n",
        "    error = ErrorCode.NONE\n",
        seeds=300,
    ),
    bug(
        "a partition given before it is free",
        "A member of a consumer group gets what another one has yet to give up.",
        "broker/coordinator/group/consumer/reconciliation.py",
        "    return is_mine or given.epoch_of(topic_id, number) == NOT_OWNED\n",
        "    return is_mine or given.epoch_of(topic_id, number) >= NOT_OWNED\n",
        seeds=300,
    ),
    bug(
        "sessions that never end",
        "A member of a classic group that died keeps its share.",
        "broker/coordinator/group/classic/sessions.py",
        "    if member_id not in group.members or _is_alive_by_waiting(group, member_id):\n",
        "    if member_id not in group.members or group.state is State.STABLE:\n",
        seeds=300,
    ),
)
