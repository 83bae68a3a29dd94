"""Bugs of the group coordinator: who owns what, and whose offsets count."""

from tests.simulation.planted.planting import Bug

BUGS = (
    Bug("offsets told that a transaction may change", "OffsetFetch does not wait for open transactions.", seeds=300).at(
        "_group", "not require_stable", "True"
    ),
    Bug("a zombie's offsets in a transaction", "TxnOffsetCommit takes any generation.", seeds=300).at(
        "_transactional_refusal",
        "group.check_generation(request.member_id, request.group_instance_id, request.generation_id)",
        "ErrorCode.NONE",
    ),
    Bug("a zombie's offsets", "OffsetCommit takes any generation.", seeds=300).at(
        "committed_offsets:_refusal",
        "group.check_generation(request.member_id, request.group_instance_id, request.generation_id)",
        "ErrorCode.NONE",
    ),
    Bug(
        "a partition given before it is free",
        "A member of a consumer group gets what another one has yet to give up.",
        seeds=300,
    ).at("_is_free", "given.epoch_of(topic_id, number) == NOT_OWNED", "given.epoch_of(topic_id, number) >= NOT_OWNED"),
    Bug("sessions that never end", "A member of a classic group that died keeps its share.", seeds=300).at(
        "_session_ended", "_is_alive_by_waiting(group, member_id)", "group.state is ClassicGroupState.STABLE"
    ),
)
