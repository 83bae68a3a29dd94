"""The guard of each API. An API that only needs the cluster has its guard by its row in `broker/api/api_table.py`.

Invariant: an API that has operations in its row has a guard, or its handler checks them itself (`BY_HANDLER`); nothing
is served otherwise. A test calls every API, and compares the operations that it checked with its row.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from barnabas.broker.api.api_table import ApiRow
from barnabas.broker.api.guards import config_guards, group_guards, produce_guard, topic_guards, transaction_guards
from barnabas.broker.api.guards.guard import Guard, both, cluster, group, groups, topics, transactional_id
from barnabas.broker.api.guards.guarded_handler import Handle, guarded_handler
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.protocol.registry import ApiKey

_O = Operation

BY_HANDLER: Final = frozenset(
    (
        ApiKey.FETCH,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        ApiKey.SHARE_FETCH,
        ApiKey.SHARE_ACKNOWLEDGE,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    )
)
"""The APIs whose handlers check, because only they know the resources."""

GUARDS: Final[dict[ApiKey, Guard]] = {
    ApiKey.PRODUCE: produce_guard.produce,
    ApiKey.LIST_OFFSETS: topics(_O.DESCRIBE),
    ApiKey.METADATA: topic_guards.metadata,
    ApiKey.OFFSET_COMMIT: both(group(_O.READ), topics(_O.READ)),
    ApiKey.OFFSET_FETCH: group_guards.offset_fetch,
    ApiKey.FIND_COORDINATOR: group_guards.find_coordinator,
    ApiKey.JOIN_GROUP: group(_O.READ),
    ApiKey.HEARTBEAT: group(_O.READ),
    ApiKey.LEAVE_GROUP: group(_O.READ),
    ApiKey.SYNC_GROUP: group(_O.READ),
    ApiKey.DESCRIBE_GROUPS: group_guards.describe_groups,
    ApiKey.LIST_GROUPS: group_guards.list_groups,
    ApiKey.CREATE_TOPICS: topic_guards.create_topics,
    ApiKey.DELETE_TOPICS: topic_guards.delete_topics,
    ApiKey.DELETE_RECORDS: topics(_O.DELETE),
    ApiKey.INIT_PRODUCER_ID: transaction_guards.init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: topic_guards.offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: transaction_guards.add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: both(transactional_id(_O.WRITE), group(_O.READ)),
    ApiKey.END_TXN: transactional_id(_O.WRITE),
    ApiKey.WRITE_TXN_MARKERS: transaction_guards.write_txn_markers,
    ApiKey.TXN_OFFSET_COMMIT: both(transactional_id(_O.WRITE), group(_O.READ), topics(_O.READ)),
    ApiKey.DESCRIBE_CONFIGS: config_guards.resources(_O.DESCRIBE_CONFIGS, "results", once=False),
    ApiKey.ALTER_CONFIGS: config_guards.resources(_O.ALTER_CONFIGS, "responses", once=True),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: config_guards.resources(_O.ALTER_CONFIGS, "responses", once=True),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: config_guards.alter_user_scram_credentials,
    ApiKey.DESCRIBE_LOG_DIRS: config_guards.describe_log_dirs,
    ApiKey.CREATE_PARTITIONS: topic_guards.create_partitions,
    ApiKey.DELETE_GROUPS: groups(_O.DELETE, "groups_names", "results"),
    ApiKey.OFFSET_DELETE: both(group(_O.DELETE), group_guards.offset_delete),
    ApiKey.DESCRIBE_CLUSTER: topic_guards.describe_cluster,
    ApiKey.DESCRIBE_PRODUCERS: transaction_guards.describe_producers,
    ApiKey.DESCRIBE_TRANSACTIONS: transaction_guards.describe_transactions,
    ApiKey.LIST_TRANSACTIONS: transaction_guards.list_transactions,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: group_guards.consumer_group_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: group_guards.consumer_group_describe,
    ApiKey.SHARE_GROUP_HEARTBEAT: group_guards.share_group_heartbeat,
    ApiKey.SHARE_GROUP_DESCRIBE: group_guards.consumer_group_describe,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: partial(group_guards.share_group_offsets, _O.READ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: partial(group_guards.share_group_offsets, _O.DELETE),
    ApiKey.STREAMS_GROUP_HEARTBEAT: group_guards.streams_group_heartbeat,
    ApiKey.STREAMS_GROUP_DESCRIBE: group_guards.streams_group_describe,
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: group_guards.streams_group_topology_description_update,
}


def guard_of(row: ApiRow) -> Guard | None:
    """Return the guard of an API; None for one that has nothing to check, or checks it itself."""
    found = GUARDS.get(row.key)
    if found is not None:
        return found
    if not row.accesses or row.key in BY_HANDLER:
        return None
    ((operation, resource),) = row.accesses
    assert resource is Resource.CLUSTER, row
    return cluster(operation)


def guarded(row: ApiRow, handle: Handle) -> Handle:
    """Return the handler of an API behind its guard."""
    guard = guard_of(row)
    return handle if guard is None else partial(guarded_handler, guard, handle)
