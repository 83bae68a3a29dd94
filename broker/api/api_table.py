"""The APIs this broker offers: the single source for dispatch, ApiVersions and docs/apis.md.

A row names the API, the module of `broker/api/handlers` that answers it, and the versions served, which are the whole
range of Apache Kafka 4.4.0. An API that is not here is not offered, and a request for it closes the connection, as in
Kafka. Handlers are named and not imported: a module is loaded at the first request of its API. A row also names the
operations of an API, in the terms of Kafka's ACLs: an authorizer has to allow them to the request's principal. Without
an authorizer everything is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.security.session.operations import Access, Operation, Resource
from barnabas.broker.services import OfferedApi
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig

_READ, _WRITE, _CREATE, _DELETE = Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE
_ALTER, _DESCRIBE, _CLUSTER_ACTION = Operation.ALTER, Operation.DESCRIBE, Operation.CLUSTER_ACTION
_DESCRIBE_CONFIGS, _ALTER_CONFIGS = Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS
_IDEMPOTENT_WRITE, _TWO_PHASE_COMMIT = Operation.IDEMPOTENT_WRITE, Operation.TWO_PHASE_COMMIT


class ApiRow(NamedTuple):
    """One API."""

    key: ApiKey
    handler: str
    """The module `barnabas.broker.api.handlers.<handler>`."""
    min_version: int
    max_version: int
    advertised_min_version: int
    """The first version in ApiVersions, which for Produce is lower than the first version served."""
    accesses: tuple[Access, ...]
    """The operations that Kafka 4.4.0 checks for it; some only for some requests.

    Operations for coordinators that this broker does not have are left out.
    """


_Operations = Operation | tuple[Operation, ...]


def _row(
    key: ApiKey,
    handler: str,
    *,
    topic: _Operations = (),
    group: _Operations = (),
    cluster: _Operations = (),
    transactional_id: _Operations = (),
    delegation_token: _Operations = (),
    user: _Operations = (),
) -> ApiRow:
    by_resource = {
        Resource.TRANSACTIONAL_ID: transactional_id,
        Resource.GROUP: group,
        Resource.TOPIC: topic,
        Resource.CLUSTER: cluster,
        Resource.DELEGATION_TOKEN: delegation_token,
        Resource.USER: user,
    }
    accesses = tuple(
        Access(operation, resource)
        for resource, operations in by_resource.items()
        for operation in (operations if isinstance(operations, tuple) else (operations,))
    )
    return ApiRow(key, handler, key.min_version, key.max_version, key.advertised_min_version, accesses)


API_TABLE: tuple[ApiRow, ...] = (
    _row(ApiKey.PRODUCE, "produce", topic=_WRITE, transactional_id=_WRITE),
    _row(ApiKey.FETCH, "fetch", topic=_READ, cluster=_CLUSTER_ACTION),
    _row(ApiKey.LIST_OFFSETS, "list_offsets", topic=_DESCRIBE),
    _row(ApiKey.METADATA, "metadata", topic=(_DESCRIBE, _CREATE), cluster=(_DESCRIBE, _CREATE)),
    _row(ApiKey.OFFSET_COMMIT, "offset_commit", group=_READ, topic=_READ),
    _row(ApiKey.OFFSET_FETCH, "offset_fetch", group=_DESCRIBE, topic=_DESCRIBE),
    _row(
        ApiKey.FIND_COORDINATOR,
        "find_coordinator",
        group=_DESCRIBE,
        transactional_id=_DESCRIBE,
        cluster=_CLUSTER_ACTION,
    ),
    _row(ApiKey.JOIN_GROUP, "join_group", group=_READ),
    _row(ApiKey.HEARTBEAT, "heartbeat", group=_READ),
    _row(ApiKey.LEAVE_GROUP, "leave_group", group=_READ),
    _row(ApiKey.SYNC_GROUP, "sync_group", group=_READ),
    _row(ApiKey.DESCRIBE_GROUPS, "describe_groups", group=_DESCRIBE),
    _row(ApiKey.LIST_GROUPS, "list_groups", cluster=_DESCRIBE, group=_DESCRIBE),
    _row(ApiKey.SASL_HANDSHAKE, "sasl_handshake"),
    _row(ApiKey.API_VERSIONS, "api_versions"),
    _row(ApiKey.CREATE_TOPICS, "create_topics", cluster=_CREATE, topic=(_CREATE, _DESCRIBE_CONFIGS)),
    _row(ApiKey.DELETE_TOPICS, "delete_topics", cluster=_DELETE, topic=(_DELETE, _DESCRIBE)),
    _row(ApiKey.DELETE_RECORDS, "delete_records", topic=_DELETE),
    _row(
        ApiKey.INIT_PRODUCER_ID,
        "init_producer_id",
        transactional_id=(_WRITE, _TWO_PHASE_COMMIT),
        cluster=_IDEMPOTENT_WRITE,
        topic=_WRITE,  # on any topic, in place of IdempotentWrite (KIP-679)
    ),
    _row(ApiKey.OFFSET_FOR_LEADER_EPOCH, "offset_for_leader_epoch", topic=_DESCRIBE, cluster=_CLUSTER_ACTION),
    _row(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        "add_partitions_to_txn",
        transactional_id=_WRITE,
        topic=_WRITE,
        cluster=_CLUSTER_ACTION,
    ),
    _row(ApiKey.ADD_OFFSETS_TO_TXN, "add_offsets_to_txn", transactional_id=_WRITE, group=_READ),
    _row(ApiKey.END_TXN, "end_txn", transactional_id=_WRITE),
    _row(ApiKey.WRITE_TXN_MARKERS, "write_txn_markers", cluster=(_CLUSTER_ACTION, _ALTER)),
    _row(ApiKey.TXN_OFFSET_COMMIT, "txn_offset_commit", transactional_id=_WRITE, group=_READ, topic=_READ),
    _row(ApiKey.DESCRIBE_ACLS, "describe_acls", cluster=_DESCRIBE),
    _row(ApiKey.CREATE_ACLS, "create_acls", cluster=_ALTER),
    _row(ApiKey.DELETE_ACLS, "delete_acls", cluster=_ALTER),
    _row(
        ApiKey.DESCRIBE_CONFIGS,
        "describe_configs",
        topic=_DESCRIBE_CONFIGS,
        cluster=_DESCRIBE_CONFIGS,
        group=_DESCRIBE_CONFIGS,
    ),
    _row(ApiKey.ALTER_CONFIGS, "alter_configs", topic=_ALTER_CONFIGS, cluster=_ALTER_CONFIGS, group=_ALTER_CONFIGS),
    _row(ApiKey.ALTER_REPLICA_LOG_DIRS, "alter_replica_log_dirs", cluster=_ALTER),
    _row(ApiKey.DESCRIBE_LOG_DIRS, "describe_log_dirs", cluster=_DESCRIBE),
    _row(ApiKey.SASL_AUTHENTICATE, "sasl_authenticate"),
    _row(ApiKey.CREATE_PARTITIONS, "create_partitions", topic=_ALTER),
    _row(ApiKey.CREATE_DELEGATION_TOKEN, "create_delegation_token", user=Operation.CREATE_TOKENS),
    _row(ApiKey.RENEW_DELEGATION_TOKEN, "renew_delegation_token"),
    _row(ApiKey.EXPIRE_DELEGATION_TOKEN, "expire_delegation_token"),
    _row(
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        "describe_delegation_token",
        delegation_token=_DESCRIBE,
        user=Operation.DESCRIBE_TOKENS,
    ),
    _row(ApiKey.DELETE_GROUPS, "delete_groups", group=_DELETE),
    _row(ApiKey.ELECT_LEADERS, "elect_leaders", cluster=_ALTER),
    _row(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        "incremental_alter_configs",
        topic=_ALTER_CONFIGS,
        cluster=_ALTER_CONFIGS,
        group=_ALTER_CONFIGS,
    ),
    _row(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "alter_partition_reassignments", cluster=_ALTER),
    _row(ApiKey.LIST_PARTITION_REASSIGNMENTS, "list_partition_reassignments", cluster=_DESCRIBE),
    _row(ApiKey.OFFSET_DELETE, "offset_delete", group=_DELETE, topic=_READ),
    _row(ApiKey.DESCRIBE_CLIENT_QUOTAS, "describe_client_quotas", cluster=_DESCRIBE_CONFIGS),
    _row(ApiKey.ALTER_CLIENT_QUOTAS, "alter_client_quotas", cluster=_ALTER_CONFIGS),
    _row(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "describe_user_scram_credentials", cluster=_DESCRIBE),
    _row(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "alter_user_scram_credentials", cluster=_ALTER),
    _row(ApiKey.DESCRIBE_QUORUM, "describe_quorum", cluster=_DESCRIBE),
    _row(ApiKey.UPDATE_FEATURES, "update_features", cluster=_ALTER),
    _row(ApiKey.DESCRIBE_CLUSTER, "describe_cluster", cluster=_DESCRIBE),
    _row(ApiKey.DESCRIBE_PRODUCERS, "describe_producers", topic=_READ),
    _row(ApiKey.UNREGISTER_BROKER, "unregister_broker", cluster=_ALTER),
    _row(ApiKey.DESCRIBE_TRANSACTIONS, "describe_transactions", transactional_id=_DESCRIBE, topic=_DESCRIBE),
    _row(ApiKey.LIST_TRANSACTIONS, "list_transactions", transactional_id=_DESCRIBE),
    _row(ApiKey.CONSUMER_GROUP_HEARTBEAT, "consumer_group_heartbeat", group=_READ, topic=_DESCRIBE),
    _row(ApiKey.CONSUMER_GROUP_DESCRIBE, "consumer_group_describe", group=_DESCRIBE, topic=_DESCRIBE),
    _row(ApiKey.LIST_CONFIG_RESOURCES, "list_config_resources", cluster=_DESCRIBE_CONFIGS),
    _row(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "describe_topic_partitions", topic=_DESCRIBE),
    _row(ApiKey.SHARE_GROUP_HEARTBEAT, "share_group_heartbeat", group=_READ, topic=_DESCRIBE),
    _row(ApiKey.SHARE_GROUP_DESCRIBE, "share_group_describe", group=_DESCRIBE, topic=_DESCRIBE),
    _row(ApiKey.SHARE_FETCH, "share_fetch", group=_READ, topic=_READ),
    _row(ApiKey.SHARE_ACKNOWLEDGE, "share_acknowledge", group=_READ, topic=_READ),
    _row(ApiKey.ADD_RAFT_VOTER, "add_raft_voter", cluster=_ALTER),
    _row(ApiKey.REMOVE_RAFT_VOTER, "remove_raft_voter", cluster=_ALTER),
    _row(ApiKey.INITIALIZE_SHARE_GROUP_STATE, "initialize_share_group_state", cluster=_CLUSTER_ACTION),
    _row(ApiKey.READ_SHARE_GROUP_STATE, "read_share_group_state", cluster=_CLUSTER_ACTION),
    _row(ApiKey.WRITE_SHARE_GROUP_STATE, "write_share_group_state", cluster=_CLUSTER_ACTION),
    _row(ApiKey.DELETE_SHARE_GROUP_STATE, "delete_share_group_state", cluster=_CLUSTER_ACTION),
    _row(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, "read_share_group_state_summary", cluster=_CLUSTER_ACTION),
    _row(
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        "streams_group_heartbeat",
        group=_READ,
        topic=(_DESCRIBE, _CREATE),
        cluster=_CREATE,
    ),
    _row(ApiKey.STREAMS_GROUP_DESCRIBE, "streams_group_describe", group=_DESCRIBE, topic=_DESCRIBE),
    _row(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, "describe_share_group_offsets", group=_DESCRIBE, topic=_DESCRIBE),
    _row(ApiKey.ALTER_SHARE_GROUP_OFFSETS, "alter_share_group_offsets", group=_READ, topic=_READ),
    _row(ApiKey.DELETE_SHARE_GROUP_OFFSETS, "delete_share_group_offsets", group=_DELETE, topic=_READ),
    _row(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, "streams_group_topology_description_update", group=_READ),
    _row(ApiKey.UNREGISTER_CONTROLLER, "unregister_controller", cluster=_ALTER),
)


TELEMETRY_TABLE: tuple[ApiRow, ...] = (
    _row(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, "get_telemetry_subscriptions"),
    _row(ApiKey.PUSH_TELEMETRY, "push_telemetry"),
)
"""Offered only with `barnabas.client.telemetry.enable` (KIP-714); in Kafka, where a plug-in receives metrics."""


def table_for(config: BrokerConfig) -> tuple[ApiRow, ...]:
    """Return the table of a broker: `API_TABLE`, and the APIs that its settings enable."""
    table = API_TABLE
    if config.boolean("barnabas.client.telemetry.enable"):
        table = tuple(sorted((*table, *TELEMETRY_TABLE)))
    if not config.boolean("transaction.two.phase.commit.enable"):
        return table
    newest = {ApiKey.INIT_PRODUCER_ID: ApiKey.INIT_PRODUCER_ID.newest_version}  # KIP-939: Kafka has not released it
    return tuple(row._replace(max_version=newest.get(row.key, row.max_version)) for row in table)


def offered_apis(table: tuple[ApiRow, ...] = API_TABLE) -> tuple[OfferedApi, ...]:
    """Return the APIs that ApiVersions lists, in order of the key."""
    return tuple(OfferedApi(row.key, row.advertised_min_version, row.max_version) for row in table)
