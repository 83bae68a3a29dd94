"""Bugs of the group coordinator: assignment and committed offsets."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug(
        "unstable offsets returned by OffsetFetch",
        "OffsetFetch ignores `require_stable`, and returns offsets that an open transaction may still change.",
        seeds=300,
    ).at("_group", "not require_stable", "True"),
    Bug("generation not checked by TxnOffsetCommit", "TxnOffsetCommit accepts any generation.", seeds=300).at(
        "_transactional_refusal",
        "group.check_generation(request.member_id, request.group_instance_id, request.generation_id)",
        "ErrorCode.NONE",
    ),
    Bug("generation not checked by OffsetCommit", "OffsetCommit accepts any generation.", seeds=300).at(
        "committed_offsets:_refusal",
        "group.check_generation(request.member_id, request.group_instance_id, request.generation_id)",
        "ErrorCode.NONE",
    ),
    Bug(
        "partition assigned before it is revoked",
        "A member of a consumer group gets a partition that another member has not revoked yet.",
        seeds=300,
    ).at("_is_free", "given.epoch_of(topic_id, number) == NOT_OWNED", "given.epoch_of(topic_id, number) >= NOT_OWNED"),
    Bug(
        "session timeout not applied", "A dead member of a classic group stays the owner of its partitions.", seeds=300
    ).at("_session_ended", "_is_alive_by_waiting(group, member_id)", "group.state is ClassicGroupState.STABLE"),
)
