"""What a broker's error means for the sink, and what to do about it. Pure."""

from __future__ import annotations

from barnabas.client.transactions.errors import FENCED as FENCED_BY_EPOCH
from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.cluster.first_contact import advice
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings

FENCED = FENCED_BY_EPOCH | {ErrorCode.TRANSACTION_COORDINATOR_FENCED}

_TRANSACTION_GONE = frozenset(
    {ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.TRANSACTION_ABORTABLE} | FENCED
)


def explain(error: KafkaError, settings: SinkSettings, prefix: str, doing: str) -> SinkFailed:
    """Return the failure for `error`, which occurred while `doing` something ("writing rows")."""
    advice = _advice(error.code, settings, prefix)
    return SinkFailed(f"{doing} failed: {str(error).rstrip('.')}. {advice}")


def _advice(code: ErrorCode, settings: SinkSettings, prefix: str) -> str:
    """Return what to do about it. Any such error leaves the batch undecided, or decided and safe."""
    match code:
        case ErrorCode.NETWORK_EXCEPTION | ErrorCode.REQUEST_TIMED_OUT:
            return (
                f"{advice(code, settings.connection)}, then restart the query: nothing is lost and nothing is written"
                " twice. A broker may be unavailable for kafka.delivery.timeout.ms "
                f"({settings.delivery_timeout_ms}), and when"
                f" a batch write begins for kafka.request.timeout.ms ({settings.connection.request_timeout_ms})"
            )
        case ErrorCode.SASL_AUTHENTICATION_FAILED | ErrorCode.UNSUPPORTED_SASL_MECHANISM | ErrorCode.ILLEGAL_SASL_STATE:
            return f"{advice(code, settings.connection)}, then restart the query: nothing is lost"
        case ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return (
                "The sink needs WRITE and DESCRIBE on the topics it writes to; on its ledger"
                f" '__{prefix}.ledger' READ and DESCRIBE_CONFIGS, too, and CREATE if the topic does not exist yet: "
                "have them granted, then restart the query. Or the topic's name is wrong: brokers send the same "
                "error for a topic that does not exist"
            )
        case ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return (
                f"The sink needs WRITE and DESCRIBE on all transactional ids that begin with {prefix!r}: have them"
                " granted, then restart the query"
            )
        case ErrorCode.GROUP_AUTHORIZATION_FAILED:
            return (
                f"The sink needs READ on the group {settings.group_id or prefix!r}, to which it commits the source's"
                ' offsets: have it granted, or set kafka.group.id to "" to commit none, then restart the query'
            )
        case ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return (
                "The cluster does not allow this for the principal of the sink: have it granted, then restart the query"
            )
        case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return (
                "Check the topic's name, or create the topic, or have the sink create it (newTopicPartitions), "
                "because the brokers do not; then restart the query"
            )
        case ErrorCode.INVALID_TOPIC_EXCEPTION:
            return "Topics are named with letters, digits, '.', '_' and '-': correct the option or the column `topic`"
        case ErrorCode.MESSAGE_TOO_LARGE | ErrorCode.RECORD_LIST_TOO_LARGE:
            return "Nothing of the batch is visible. Raise the topic's max.message.bytes, or write smaller rows"
        case ErrorCode.INVALID_TRANSACTION_TIMEOUT:
            set_ms = settings.transaction_timeout_ms
            return (
                f"kafka.transaction.timeout.ms is {'not set' if set_ms is None else set_ms}, and the broker's"
                " transaction.max.timeout.ms allows less than needed: lower the former or raise the latter"
            )
        case ErrorCode.UNSUPPORTED_VERSION:
            return "The sink needs brokers of Apache Kafka 3.0 or newer, or Barnabas"
        case ErrorCode.CORRUPT_MESSAGE:
            return (
                "Nothing was written or decided. The broker's files are damaged: `barnabas log verify` shows where. "
                "Restore them, then restart the query"
            )
        case ErrorCode.INVALID_RECORD | ErrorCode.INVALID_TIMESTAMP:
            return (
                "The topic's settings do not allow such rows: change the rows, or the topic's settings. A compacted "
                "topic accepts no row without a key"
            )
        case _ if code in _TRANSACTION_GONE:
            return (
                "The transaction is no longer ours: another attempt or run took over, or it was open for longer than"
                " kafka.transaction.timeout.ms. Nothing of it is visible. Restart the query: it writes the batch again"
            )
    return "Restart the query: nothing is lost and nothing is written twice"
