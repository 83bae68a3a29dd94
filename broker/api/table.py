"""The APIs this broker offers: the one truth that dispatch, ApiVersions and docs/apis.md are derived from.

A row names the API, the module of `broker/handlers` that answers it, and the versions served, which are Apache Kafka
4.3.1's whole range. What is not here is not offered, and a request for it closes the connection, as in Kafka.
Handlers are named and not imported: a module is loaded when its API is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.context import OfferedApi
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig


class Row(NamedTuple):
    """One API."""

    key: ApiKey
    handler: str
    """The module `barnabas.broker.handlers.<handler>`."""
    min_version: int
    max_version: int
    advertised_min_version: int
    """Where its range begins in ApiVersions, which for Produce is lower than what is served."""


def _row(key: ApiKey, handler: str) -> Row:
    return Row(key, handler, key.min_version, key.max_version, key.advertised_min_version)


API_TABLE: tuple[Row, ...] = (
    _row(ApiKey.PRODUCE, "produce"),
    _row(ApiKey.FETCH, "fetch"),
    _row(ApiKey.LIST_OFFSETS, "list_offsets"),
    _row(ApiKey.METADATA, "metadata"),
    _row(ApiKey.OFFSET_COMMIT, "offset_commit"),
    _row(ApiKey.OFFSET_FETCH, "offset_fetch"),
    _row(ApiKey.FIND_COORDINATOR, "find_coordinator"),
    _row(ApiKey.JOIN_GROUP, "join_group"),
    _row(ApiKey.HEARTBEAT, "heartbeat"),
    _row(ApiKey.LEAVE_GROUP, "leave_group"),
    _row(ApiKey.SYNC_GROUP, "sync_group"),
    _row(ApiKey.DESCRIBE_GROUPS, "describe_groups"),
    _row(ApiKey.LIST_GROUPS, "list_groups"),
    _row(ApiKey.API_VERSIONS, "api_versions"),
    _row(ApiKey.CREATE_TOPICS, "create_topics"),
    _row(ApiKey.DELETE_TOPICS, "delete_topics"),
    _row(ApiKey.DELETE_RECORDS, "delete_records"),
    _row(ApiKey.INIT_PRODUCER_ID, "init_producer_id"),
    _row(ApiKey.OFFSET_FOR_LEADER_EPOCH, "offset_for_leader_epoch"),
    _row(ApiKey.ADD_PARTITIONS_TO_TXN, "add_partitions_to_txn"),
    _row(ApiKey.ADD_OFFSETS_TO_TXN, "add_offsets_to_txn"),
    _row(ApiKey.END_TXN, "end_txn"),
    _row(ApiKey.WRITE_TXN_MARKERS, "write_txn_markers"),
    _row(ApiKey.TXN_OFFSET_COMMIT, "txn_offset_commit"),
    _row(ApiKey.DESCRIBE_CONFIGS, "describe_configs"),
    _row(ApiKey.ALTER_CONFIGS, "alter_configs"),
    _row(ApiKey.DESCRIBE_LOG_DIRS, "describe_log_dirs"),
    _row(ApiKey.CREATE_PARTITIONS, "create_partitions"),
    _row(ApiKey.DELETE_GROUPS, "delete_groups"),
    _row(ApiKey.INCREMENTAL_ALTER_CONFIGS, "incremental_alter_configs"),
    _row(ApiKey.OFFSET_DELETE, "offset_delete"),
    _row(ApiKey.UPDATE_FEATURES, "update_features"),
    _row(ApiKey.DESCRIBE_CLUSTER, "describe_cluster"),
    _row(ApiKey.DESCRIBE_PRODUCERS, "describe_producers"),
    _row(ApiKey.DESCRIBE_TRANSACTIONS, "describe_transactions"),
    _row(ApiKey.LIST_TRANSACTIONS, "list_transactions"),
    _row(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "describe_topic_partitions"),
)


def table_for(config: BrokerConfig) -> tuple[Row, ...]:
    """The table of a broker: `API_TABLE`, and versions that Kafka has not released where the settings ask for them."""
    if not config.boolean("transaction.two.phase.commit.enable"):
        return API_TABLE
    newest = {ApiKey.INIT_PRODUCER_ID: ApiKey.INIT_PRODUCER_ID.newest_version}  # KIP-939
    return tuple(row._replace(max_version=newest.get(row.key, row.max_version)) for row in API_TABLE)


def offered_apis(table: tuple[Row, ...] = API_TABLE) -> tuple[OfferedApi, ...]:
    """What ApiVersions lists, in order of the key."""
    return tuple(OfferedApi(row.key, row.advertised_min_version, row.max_version) for row in table)
