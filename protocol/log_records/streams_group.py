"""The records of streams groups (KIP-1071) in `__consumer_offsets`: types 17 and 19 to 23.

As in `group.py`, a log record's key is its type (i16) and the fields of a `…Key` struct, its value a version (i16) and
the fields of the `…Value` struct, or null, which deletes. Type 18 was never released.
"""

from barnabas.protocol.codec.schema import INT8, INT16, INT32, INT64, STRING, UINT16, Stored, array, field


class StreamsGroupMetadataKey(Stored, key=17, versions="0"):
    group_id: str = field(STRING)


class LastAssignmentConfig(Stored):
    key: str = field(STRING)
    value: str = field(STRING)


class StreamsGroupMetadataValue(Stored, key=17, versions="0", flexible="0+"):
    epoch: int = field(INT32)
    metadata_hash: int = field(INT64)
    # the topology epoch whose topics exist as they have to; -1: none
    validated_topology_epoch: int = field(INT32, default=-1, tag=0)
    last_assignment_configs: list[LastAssignmentConfig] | None = field(
        array(LastAssignmentConfig), nullable="0+", default=[], tag=1
    )
    # of the plugin for topology descriptions (KIP-1331): the epochs that it stored and refused; -1: none
    stored_description_topology_epoch: int = field(INT32, default=-1, tag=2)
    failed_description_topology_epoch: int = field(INT32, default=-1, tag=3)


class StreamsGroupMemberMetadataKey(Stored, key=19, versions="0"):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class StreamsEndpoint(Stored):
    """Of interactive queries on the member's instance."""

    host: str = field(STRING)
    port: int = field(UINT16)


class ClientTag(Stored):
    key: str = field(STRING)
    value: str = field(STRING)


class StreamsGroupMemberMetadataValue(Stored, key=19, versions="0", flexible="0+"):
    instance_id: str | None = field(STRING, nullable="0+")
    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    rebalance_timeout_ms: int = field(INT32, default=-1)
    topology_epoch: int = field(INT32)
    process_id: str = field(STRING)  # of the instance, which may have several members
    user_endpoint: StreamsEndpoint | None = field(StreamsEndpoint, nullable="0+", default=None)
    client_tags: list[ClientTag] = field(array(ClientTag))


class StreamsGroupTargetAssignmentMetadataKey(Stored, key=20, versions="0"):
    group_id: str = field(STRING)


class StreamsGroupTargetAssignmentMetadataValue(Stored, key=20, versions="0", flexible="0+"):
    assignment_epoch: int = field(INT32)
    # when the target was computed; 0: the next may be computed at any time
    assignment_timestamp: int = field(INT64, default=0, tag=0, ignorable=True)


class StreamsGroupTargetAssignmentMemberKey(Stored, key=21, versions="0"):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class TargetTasks(Stored):
    subtopology_id: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class StreamsGroupTargetAssignmentMemberValue(Stored, key=21, versions="0", flexible="0+"):
    active_tasks: list[TargetTasks] = field(array(TargetTasks))
    standby_tasks: list[TargetTasks] = field(array(TargetTasks))
    warmup_tasks: list[TargetTasks] = field(array(TargetTasks))


class StreamsGroupCurrentMemberAssignmentKey(Stored, key=22, versions="0"):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class CurrentTasks(Stored):
    subtopology_id: str = field(STRING)
    partitions: list[int] = field(array(INT32))
    # parallel to partitions: the epoch since which the member has each; only of active tasks, else null
    assignment_epochs: list[int] | None = field(array(INT32), nullable="0+", default=[], tag=0)


class StreamsGroupCurrentMemberAssignmentValue(Stored, key=22, versions="0", flexible="0+"):
    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)  # 1 stable, 2 unrevoked tasks, 3 unreleased tasks
    active_tasks: list[CurrentTasks] = field(array(CurrentTasks))
    standby_tasks: list[CurrentTasks] = field(array(CurrentTasks))
    warmup_tasks: list[CurrentTasks] = field(array(CurrentTasks))
    active_tasks_pending_revocation: list[CurrentTasks] = field(array(CurrentTasks))
    standby_tasks_pending_revocation: list[CurrentTasks] = field(array(CurrentTasks))
    warmup_tasks_pending_revocation: list[CurrentTasks] = field(array(CurrentTasks))


class StreamsGroupTopologyKey(Stored, key=23, versions="0"):
    group_id: str = field(STRING)


class StoredTopicConfig(Stored):
    key: str = field(STRING)
    value: str = field(STRING)


class StoredTopicInfo(Stored):
    name: str = field(STRING)
    partitions: int = field(INT32)  # 0: any number
    replication_factor: int = field(INT16)  # 0: the broker's default
    topic_configs: list[StoredTopicConfig] = field(array(StoredTopicConfig))


class StoredCopartitionGroup(Stored):
    """Indexes into the lists of its subtopology."""

    source_topics: list[int] = field(array(INT16))
    source_topic_regex: list[int] = field(array(INT16))
    repartition_source_topics: list[int] = field(array(INT16))


class StoredSubtopology(Stored):
    subtopology_id: str = field(STRING)
    source_topics: list[str] = field(array(STRING))
    source_topic_regex: list[str] = field(array(STRING))
    state_changelog_topics: list[StoredTopicInfo] = field(array(StoredTopicInfo))
    repartition_sink_topics: list[str] = field(array(STRING))
    repartition_source_topics: list[StoredTopicInfo] = field(array(StoredTopicInfo))
    copartition_groups: list[StoredCopartitionGroup] = field(array(StoredCopartitionGroup))


class StreamsGroupTopologyValue(Stored, key=23, versions="0", flexible="0+"):
    epoch: int = field(INT32)
    subtopologies: list[StoredSubtopology] = field(array(StoredSubtopology))


STREAMS_GROUP_KEYS: dict[int, type[Stored]] = {
    17: StreamsGroupMetadataKey,
    19: StreamsGroupMemberMetadataKey,
    20: StreamsGroupTargetAssignmentMetadataKey,
    21: StreamsGroupTargetAssignmentMemberKey,
    22: StreamsGroupCurrentMemberAssignmentKey,
    23: StreamsGroupTopologyKey,
}
STREAMS_GROUP_VALUES: dict[int, type[Stored]] = {
    17: StreamsGroupMetadataValue,
    19: StreamsGroupMemberMetadataValue,
    20: StreamsGroupTargetAssignmentMetadataValue,
    21: StreamsGroupTargetAssignmentMemberValue,
    22: StreamsGroupCurrentMemberAssignmentValue,
    23: StreamsGroupTopologyValue,
}
