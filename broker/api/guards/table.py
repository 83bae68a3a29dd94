"""The guard of each API. An API that only needs the cluster has its guard by its row in `broker/api/table.py`.

Invariant: an API that has operations in its row has a guard, or its handler checks them itself (`BY_HANDLER`); nothing
is served otherwise. A test calls every API, and compares the operations that it checked with its row.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from barnabas.broker.api.guards import of_groups, of_produce, of_settings, of_topics, of_transactions
from barnabas.broker.api.guards.asking import Handle, asked_through
from barnabas.broker.api.guards.guard import Guard, both, cluster, group, groups, topics, transactional_id
from barnabas.broker.api.table import ApiRow
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.protocol.registry import ApiKey

_O = Operation

BY_HANDLER: Final = frozenset(
    (
        ApiKey.FETCH,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    )
)
"""The APIs whose handlers check, because only they know the resources."""

GUARDS: Final[dict[ApiKey, Guard]] = {
    ApiKey.PRODUCE: of_produce.produce,
    ApiKey.LIST_OFFSETS: topics(_O.DESCRIBE),
    ApiKey.METADATA: of_topics.metadata,
    ApiKey.OFFSET_COMMIT: both(group(_O.READ), topics(_O.READ)),
    ApiKey.OFFSET_FETCH: of_groups.offset_fetch,
    ApiKey.FIND_COORDINATOR: of_groups.find_coordinator,
    ApiKey.JOIN_GROUP: group(_O.READ),
    ApiKey.HEARTBEAT: group(_O.READ),
    ApiKey.LEAVE_GROUP: group(_O.READ),
    ApiKey.SYNC_GROUP: group(_O.READ),
    ApiKey.DESCRIBE_GROUPS: of_groups.describe_groups,
    ApiKey.LIST_GROUPS: of_groups.list_groups,
    ApiKey.CREATE_TOPICS: of_topics.create_topics,
    ApiKey.DELETE_TOPICS: of_topics.delete_topics,
    ApiKey.DELETE_RECORDS: topics(_O.DELETE),
    ApiKey.INIT_PRODUCER_ID: of_transactions.init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: of_topics.offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: of_transactions.add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: both(transactional_id(_O.WRITE), group(_O.READ)),
    ApiKey.END_TXN: transactional_id(_O.WRITE),
    ApiKey.WRITE_TXN_MARKERS: of_transactions.write_txn_markers,
    ApiKey.TXN_OFFSET_COMMIT: both(transactional_id(_O.WRITE), group(_O.READ), topics(_O.READ)),
    ApiKey.DESCRIBE_CONFIGS: of_settings.resources(_O.DESCRIBE_CONFIGS, "results", once=False),
    ApiKey.ALTER_CONFIGS: of_settings.resources(_O.ALTER_CONFIGS, "responses", once=True),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: of_settings.resources(_O.ALTER_CONFIGS, "responses", once=True),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: of_settings.alter_user_scram_credentials,
    ApiKey.DESCRIBE_LOG_DIRS: of_settings.describe_log_dirs,
    ApiKey.CREATE_PARTITIONS: of_topics.create_partitions,
    ApiKey.DELETE_GROUPS: groups(_O.DELETE, "groups_names", "results"),
    ApiKey.OFFSET_DELETE: both(group(_O.DELETE), of_groups.offset_delete),
    ApiKey.DESCRIBE_CLUSTER: of_topics.describe_cluster,
    ApiKey.DESCRIBE_PRODUCERS: of_transactions.describe_producers,
    ApiKey.DESCRIBE_TRANSACTIONS: of_transactions.describe_transactions,
    ApiKey.LIST_TRANSACTIONS: of_transactions.list_transactions,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: of_groups.consumer_group_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: of_groups.consumer_group_describe,
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
    return handle if guard is None else partial(asked_through, guard, handle)
