"""Errors by name: Kafka's error codes and the exceptions of this package.

`ErrorCode` is the whole table of Apache Kafka 4.4.0. Each member has the client's reaction: `retriable` (a retry may
help) and `refresh_metadata` (look up the leader or the coordinator again before the retry). The texts are not Kafka's;
clients decide by the code alone.
"""

from enum import IntEnum

_FINAL, _RETRY, _REFRESH = range(3)


class ErrorCode(IntEnum):
    """An error code of the wire (i16), with the client's reaction and a sentence for people."""

    retriable: bool
    refresh_metadata: bool
    message: str

    # The defaults are for the type checker, which takes the look-up ErrorCode(code) for a call of this.
    def __new__(cls, code: int, reaction: int = _FINAL, message: str = "") -> "ErrorCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.retriable = reaction != _FINAL
        member.refresh_metadata = reaction == _REFRESH
        member.message = message
        return member

    UNKNOWN_SERVER_ERROR = -1, _FINAL, "The broker had an unexpected error."
    NONE = 0, _FINAL, "No error."
    OFFSET_OUT_OF_RANGE = 1, _FINAL, "The offset lies outside the log of this partition."
    CORRUPT_MESSAGE = 2, _RETRY, "The batch is damaged: its checksum, size or layout is wrong."
    UNKNOWN_TOPIC_OR_PARTITION = 3, _REFRESH, "There is no such topic or partition here."
    INVALID_FETCH_SIZE = 4, _FINAL, "The fetch size is invalid."
    LEADER_NOT_AVAILABLE = 5, _REFRESH, "The partition has no leader at the moment."
    NOT_LEADER_OR_FOLLOWER = 6, _REFRESH, "This broker does not lead (or follow) the partition."
    REQUEST_TIMED_OUT = 7, _RETRY, "The request was not completed in time."
    BROKER_NOT_AVAILABLE = 8, _FINAL, "The broker is not available."
    REPLICA_NOT_AVAILABLE = 9, _REFRESH, "The replica is not available for this partition."
    MESSAGE_TOO_LARGE = 10, _FINAL, "The batch is larger than the topic accepts."
    STALE_CONTROLLER_EPOCH = 11, _FINAL, "The controller has moved to another broker."
    OFFSET_METADATA_TOO_LARGE = 12, _FINAL, "The metadata string of the committed offset is too long."
    NETWORK_EXCEPTION = 13, _REFRESH, "The connection was lost before the response came."
    COORDINATOR_LOAD_IN_PROGRESS = 14, _RETRY, "The coordinator is still loading its state."
    COORDINATOR_NOT_AVAILABLE = 15, _REFRESH, "The coordinator is not available."
    NOT_COORDINATOR = 16, _REFRESH, "This broker is not the coordinator."
    INVALID_TOPIC_EXCEPTION = 17, _FINAL, "The topic name is invalid, or the topic may not be used in this way."
    RECORD_LIST_TOO_LARGE = 18, _FINAL, "The batches together are larger than a segment."
    NOT_ENOUGH_REPLICAS = 19, _RETRY, "Fewer replicas are in sync than the topic requires."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, _RETRY, "Written, but to fewer in-sync replicas than the topic requires."
    INVALID_REQUIRED_ACKS = 21, _FINAL, "acks must be -1, 0 or 1."
    ILLEGAL_GENERATION = 22, _FINAL, "The generation is not the group's current one."
    INCONSISTENT_GROUP_PROTOCOL = 23, _FINAL, "The group has other protocols, or is a share or streams group."
    INVALID_GROUP_ID = 24, _FINAL, "The group id is invalid."
    UNKNOWN_MEMBER_ID = 25, _FINAL, "The group does not know this member."
    INVALID_SESSION_TIMEOUT = 26, _FINAL, "The session timeout is outside the range the broker allows."
    REBALANCE_IN_PROGRESS = 27, _FINAL, "The group is rebalancing: join it again."
    INVALID_COMMIT_OFFSET_SIZE = 28, _FINAL, "The offset to commit is too large to store."
    TOPIC_AUTHORIZATION_FAILED = 29, _FINAL, "Not authorized to use the topic."
    GROUP_AUTHORIZATION_FAILED = 30, _FINAL, "Not authorized to use the group."
    CLUSTER_AUTHORIZATION_FAILED = 31, _FINAL, "Not authorized to do this to the cluster."
    INVALID_TIMESTAMP = 32, _FINAL, "The timestamp of a record is outside the limits of the topic."
    UNSUPPORTED_SASL_MECHANISM = 33, _FINAL, "The broker does not offer this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, _FINAL, "This request is not valid at this point of the SASL exchange."
    UNSUPPORTED_VERSION = 35, _FINAL, "The broker does not support this version of the API."
    TOPIC_ALREADY_EXISTS = 36, _FINAL, "There already is a topic of this name."
    INVALID_PARTITIONS = 37, _FINAL, "The number of partitions is invalid."
    INVALID_REPLICATION_FACTOR = 38, _FINAL, "The replication factor is below one or above the number of brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, _FINAL, "The replica assignment is invalid."
    INVALID_CONFIG = 40, _FINAL, "A configuration key or value is invalid."
    NOT_CONTROLLER = 41, _RETRY, "This broker is not the controller."
    INVALID_REQUEST = 42, _FINAL, "The request is invalid: fields contradict each other or are out of range."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, _FINAL, "The message format of the broker does not support this."
    POLICY_VIOLATION = 44, _FINAL, "The request violates a policy of the cluster."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, _FINAL, "The batch does not follow the producer's last one."
    DUPLICATE_SEQUENCE_NUMBER = 46, _FINAL, "The batch was written before; its offset is no longer known."
    INVALID_PRODUCER_EPOCH = 47, _FINAL, "The producer's epoch is older than the newest one seen."
    INVALID_TXN_STATE = 48, _FINAL, "The state of the transaction does not allow this."
    INVALID_PRODUCER_ID_MAPPING = 49, _FINAL, "The producer id does not belong to this transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, _FINAL, "The transaction timeout is not positive or too long."
    CONCURRENT_TRANSACTIONS = 51, _RETRY, "Another operation on this transaction is still under way."
    TRANSACTION_COORDINATOR_FENCED = 52, _FINAL, "The markers come from a coordinator that was replaced."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, _FINAL, "Not authorized to use the transactional id."
    SECURITY_DISABLED = 54, _FINAL, "Security features are turned off."
    OPERATION_NOT_ATTEMPTED = 55, _FINAL, "Not tried, because another part of the request failed."
    KAFKA_STORAGE_ERROR = 56, _REFRESH, "The disk of this partition failed."
    LOG_DIR_NOT_FOUND = 57, _FINAL, "There is no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, _FINAL, "SASL authentication failed."
    UNKNOWN_PRODUCER_ID = 59, _FINAL, "The broker has no state of this producer id."
    REASSIGNMENT_IN_PROGRESS = 60, _FINAL, "A reassignment of the partition is under way."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, _FINAL, "Delegation tokens are turned off."
    DELEGATION_TOKEN_NOT_FOUND = 62, _FINAL, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, _FINAL, "The principal is neither owner nor renewer of the token."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, _FINAL, "Delegation token requests are not allowed on this connection."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, _FINAL, "Not authorized to use the delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, _FINAL, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, _FINAL, "This type of principal is not supported."
    NON_EMPTY_GROUP = 68, _FINAL, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, _FINAL, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, _RETRY, "The broker has no such fetch session."
    INVALID_FETCH_SESSION_EPOCH = 71, _RETRY, "The epoch of the fetch session is not the expected one."
    LISTENER_NOT_FOUND = 72, _REFRESH, "The leader has no listener with the name of this request's listener."
    TOPIC_DELETION_DISABLED = 73, _FINAL, "Deleting topics is turned off."
    FENCED_LEADER_EPOCH = 74, _REFRESH, "The client's leader epoch is older than the broker's."
    UNKNOWN_LEADER_EPOCH = 75, _RETRY, "The client's leader epoch is newer than the broker's."
    UNSUPPORTED_COMPRESSION_TYPE = 76, _FINAL, "The client is too old for the compression of these records."
    STALE_BROKER_EPOCH = 77, _FINAL, "The epoch of the broker is old."
    OFFSET_NOT_AVAILABLE = 78, _RETRY, "The new leader does not know the high watermark yet."
    MEMBER_ID_REQUIRED = 79, _FINAL, "Join again with the member id in this response."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, _REFRESH, "The preferred leader is not available."
    GROUP_MAX_SIZE_REACHED = 81, _FINAL, "The group is full."
    FENCED_INSTANCE_ID = 82, _FINAL, "Another member took over this group instance id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, _REFRESH, "No replica that may lead the partition is available."
    ELECTION_NOT_NEEDED = 84, _REFRESH, "The partition needs no election."
    NO_REASSIGNMENT_IN_PROGRESS = 85, _FINAL, "No reassignment of the partition is under way."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, _FINAL, "The group is subscribed to the topic, so its offsets stay."
    INVALID_RECORD = 87, _FINAL, "The broker's checks refused a record."
    UNSTABLE_OFFSET_COMMIT = 88, _RETRY, "An open transaction is about to commit an offset of this partition."
    THROTTLING_QUOTA_EXCEEDED = 89, _RETRY, "A quota is exceeded at the moment."
    PRODUCER_FENCED = 90, _FINAL, "A newer producer with this transactional id has taken over."
    RESOURCE_NOT_FOUND = 91, _FINAL, "There is no such resource."
    DUPLICATE_RESOURCE = 92, _FINAL, "The request names a resource twice, or a resource that exists already."
    UNACCEPTABLE_CREDENTIAL = 93, _FINAL, "The credential does not meet the requirements."
    INCONSISTENT_VOTER_SET = 94, _FINAL, "Sender and receiver do not agree about the voters."
    INVALID_UPDATE_VERSION = 95, _FINAL, "The version of the update is invalid."
    FEATURE_UPDATE_FAILED = 96, _FINAL, "The feature level was not changed."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, _FINAL, "A forwarded principal could not be read."
    SNAPSHOT_NOT_FOUND = 98, _FINAL, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, _FINAL, "The position lies outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, _REFRESH, "There is no topic with this id here."
    DUPLICATE_BROKER_REGISTRATION = 101, _FINAL, "A broker with this id is registered and alive."
    BROKER_ID_NOT_REGISTERED = 102, _FINAL, "No broker with this id is registered."
    INCONSISTENT_TOPIC_ID = 103, _REFRESH, "The topic id is not the one this log belongs to."
    INCONSISTENT_CLUSTER_ID = 104, _FINAL, "The request is meant for another cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, _FINAL, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, _RETRY, "The fetch session mixes topics by name and by id."
    INELIGIBLE_REPLICA = 107, _FINAL, "The replica may not join the in-sync replicas."
    NEW_LEADER_ELECTED = 108, _FINAL, "The change of replicas has moved the leader elsewhere."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, _FINAL, "The offset is in tiered storage now."
    FENCED_MEMBER_EPOCH = 110, _FINAL, "The member's epoch is fenced: release all partitions and join again."
    UNRELEASED_INSTANCE_ID = 111, _FINAL, "An active member still has this group instance id."
    UNSUPPORTED_ASSIGNOR = 112, _FINAL, "The group does not support this assignor."
    STALE_MEMBER_EPOCH = 113, _FINAL, "The member's epoch is old: get the new one by a heartbeat and try again."
    MISMATCHED_ENDPOINT_TYPE = 114, _FINAL, "The request went to an endpoint of the wrong type."
    UNSUPPORTED_ENDPOINT_TYPE = 115, _FINAL, "This type of endpoint is not known."
    UNKNOWN_CONTROLLER_ID = 116, _FINAL, "There is no controller of this id."
    UNKNOWN_SUBSCRIPTION_ID = 117, _FINAL, "The telemetry subscription is not the current one."
    TELEMETRY_TOO_LARGE = 118, _FINAL, "The telemetry push is larger than the broker accepts."
    INVALID_REGISTRATION = 119, _FINAL, "The registration of the node is invalid."
    TRANSACTION_ABORTABLE = 120, _FINAL, "This transaction had an error: abort it, then continue."
    INVALID_RECORD_STATE = 121, _FINAL, "The state of the record does not allow this acknowledgement."
    SHARE_SESSION_NOT_FOUND = 122, _RETRY, "The broker has no such share session."
    INVALID_SHARE_SESSION_EPOCH = 123, _RETRY, "The epoch of the share session is not the expected one."
    FENCED_STATE_EPOCH = 124, _FINAL, "The state epoch of the share group is old."
    INVALID_VOTER_KEY = 125, _FINAL, "The id and directory of the voter do not fit this node."
    DUPLICATE_VOTER = 126, _FINAL, "The voter is one already."
    VOTER_NOT_FOUND = 127, _FINAL, "There is no such voter."
    INVALID_REGULAR_EXPRESSION = 128, _FINAL, "The regular expression is invalid."
    REBOOTSTRAP_REQUIRED = 129, _FINAL, "The client should start again from its bootstrap servers."
    STREAMS_INVALID_TOPOLOGY = 130, _FINAL, "The streams topology is invalid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, _FINAL, "The epoch of the streams topology is invalid."
    STREAMS_TOPOLOGY_FENCED = 132, _FINAL, "The epoch of the streams topology is old."
    SHARE_SESSION_LIMIT_REACHED = 133, _RETRY, "The broker has reached its limit of share sessions."
    GROUP_DELETION_FAILED = 134, _FINAL, "The group was not deleted; the message of its row has the reason."
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135, _FINAL, "The broker did not accept the topology's description."
    CONTROLLER_ID_NOT_REGISTERED = 136, _FINAL, "No controller with this id is registered."


class DecodeError(ValueError):
    """Invalid bytes. The text describes the error, in terms of the format."""


class EncodeError(ValueError):
    """A message that does not fit the version to write it in. An error of this program."""


class FieldNotInVersion(EncodeError):
    """A field that holds a value, and is not in the version to write, which may be the highest that the peer knows."""


MESSAGE_CHARS_MAX = 4_000  # at most 16,000 bytes: the wire format permits 32,767


class KafkaError(Exception):
    """A response with an error code. `message` says what failed and where, for people.

    A message is shortened to fit in any response, because a name in it may be as long as the wire format permits.
    """

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        self.code = code
        self.message = message or code.message
        if len(self.message) > MESSAGE_CHARS_MAX:
            self.message = self.message[: MESSAGE_CHARS_MAX - 1] + "…"
        super().__init__(f"{code.name}: {self.message}")

    def as_value(self) -> "KafkaError":
        """Return itself without tracebacks, also of its causes: they reference the frames that store it."""
        error: BaseException | None = self
        while error is not None:
            error.__traceback__ = None
            error = error.__cause__ or error.__context__
        return self
