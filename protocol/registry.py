"""Every API of the broker listener: key, versions, messages.

The table is that of Apache Kafka 4.4.0: stable versions, and in addition the one unstable version that is supported
here. Only this table is loaded at start-up: a module of `messages/` is imported when its API is first used. The broker
has its own table of the APIs that it offers.
"""

from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from barnabas.protocol.codec.compile import Codec, codec
from barnabas.protocol.codec.schema import Request, Response


class ApiKey(IntEnum):
    """An API by Kafka's name, with its lowest and highest version and the first flexible one."""

    min_version: int
    max_version: int
    flexible_since: int | None

    # The defaults are for the type checker, which takes the look-up ApiKey(key) for a call of this.
    def __new__(cls, key: int, min_version: int = 0, max_version: int = 0, flexible: int | None = None) -> "ApiKey":
        member = int.__new__(cls, key)
        member._value_ = key
        member.min_version = min_version
        member.max_version = max_version
        member.flexible_since = flexible
        return member

    @property
    def api_name(self) -> str:
        """The name as Kafka writes it: InitProducerId."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def advertised_min_version(self) -> int:
        """The lowest version in ApiVersions.

        Produce is advertised from 0 though 0 to 2 are refused: older librdkafka decides by them which compressions it
        may use, and would otherwise send everything uncompressed.
        """
        return 0 if self is ApiKey.PRODUCE else self.min_version

    @property
    def newest_version(self) -> int:
        """The newest version with a codec: above `max_version` it is unstable in this release of Kafka."""
        return _UNSTABLE.get(self, self.max_version)

    def supports(self, version: int) -> bool:
        """Return whether requests and responses of this version can be read and written."""
        return self.min_version <= version <= self.newest_version

    def is_flexible(self, version: int) -> bool:
        return self.flexible_since is not None and version >= self.flexible_since

    PRODUCE = 0, 3, 13, 9
    FETCH = 1, 4, 18, 12
    LIST_OFFSETS = 2, 1, 11, 6
    METADATA = 3, 0, 13, 9
    OFFSET_COMMIT = 8, 2, 10, 8
    OFFSET_FETCH = 9, 1, 10, 6
    FIND_COORDINATOR = 10, 0, 6, 3
    JOIN_GROUP = 11, 0, 9, 6
    HEARTBEAT = 12, 0, 4, 4
    LEAVE_GROUP = 13, 0, 5, 4
    SYNC_GROUP = 14, 0, 5, 4
    DESCRIBE_GROUPS = 15, 0, 6, 5
    LIST_GROUPS = 16, 0, 5, 3
    SASL_HANDSHAKE = 17, 0, 1, None
    API_VERSIONS = 18, 0, 5, 3
    CREATE_TOPICS = 19, 2, 7, 5
    DELETE_TOPICS = 20, 1, 6, 4
    DELETE_RECORDS = 21, 0, 2, 2
    INIT_PRODUCER_ID = 22, 0, 5, 2
    OFFSET_FOR_LEADER_EPOCH = 23, 2, 4, 4
    ADD_PARTITIONS_TO_TXN = 24, 0, 5, 3
    ADD_OFFSETS_TO_TXN = 25, 0, 4, 3
    END_TXN = 26, 0, 5, 3
    WRITE_TXN_MARKERS = 27, 1, 2, 1
    TXN_OFFSET_COMMIT = 28, 0, 6, 3
    DESCRIBE_ACLS = 29, 1, 3, 2
    CREATE_ACLS = 30, 1, 3, 2
    DELETE_ACLS = 31, 1, 3, 2
    DESCRIBE_CONFIGS = 32, 1, 4, 4
    ALTER_CONFIGS = 33, 0, 2, 2
    ALTER_REPLICA_LOG_DIRS = 34, 1, 2, 2
    DESCRIBE_LOG_DIRS = 35, 1, 5, 2
    SASL_AUTHENTICATE = 36, 0, 2, 2
    CREATE_PARTITIONS = 37, 0, 3, 2
    CREATE_DELEGATION_TOKEN = 38, 1, 3, 2
    RENEW_DELEGATION_TOKEN = 39, 1, 2, 2
    EXPIRE_DELEGATION_TOKEN = 40, 1, 2, 2
    DESCRIBE_DELEGATION_TOKEN = 41, 1, 3, 2
    DELETE_GROUPS = 42, 0, 3, 2
    ELECT_LEADERS = 43, 0, 2, 2
    INCREMENTAL_ALTER_CONFIGS = 44, 0, 1, 1
    ALTER_PARTITION_REASSIGNMENTS = 45, 0, 1, 0
    LIST_PARTITION_REASSIGNMENTS = 46, 0, 0, 0
    OFFSET_DELETE = 47, 0, 0, None
    DESCRIBE_CLIENT_QUOTAS = 48, 0, 1, 1
    ALTER_CLIENT_QUOTAS = 49, 0, 1, 1
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, 0, 0, 0
    ALTER_USER_SCRAM_CREDENTIALS = 51, 0, 0, 0
    DESCRIBE_QUORUM = 55, 0, 2, 0
    UPDATE_FEATURES = 57, 0, 2, 0
    DESCRIBE_CLUSTER = 60, 0, 2, 0
    DESCRIBE_PRODUCERS = 61, 0, 0, 0
    UNREGISTER_BROKER = 64, 0, 0, 0
    DESCRIBE_TRANSACTIONS = 65, 0, 0, 0
    LIST_TRANSACTIONS = 66, 0, 2, 0
    CONSUMER_GROUP_HEARTBEAT = 68, 0, 1, 0
    CONSUMER_GROUP_DESCRIBE = 69, 0, 1, 0
    GET_TELEMETRY_SUBSCRIPTIONS = 71, 0, 0, 0
    PUSH_TELEMETRY = 72, 0, 0, 0
    LIST_CONFIG_RESOURCES = 74, 0, 1, 0
    DESCRIBE_TOPIC_PARTITIONS = 75, 0, 0, 0
    SHARE_GROUP_HEARTBEAT = 76, 1, 1, 0
    SHARE_GROUP_DESCRIBE = 77, 1, 1, 0
    SHARE_FETCH = 78, 1, 2, 0
    SHARE_ACKNOWLEDGE = 79, 1, 2, 0
    ADD_RAFT_VOTER = 80, 0, 1, 0
    REMOVE_RAFT_VOTER = 81, 0, 0, 0
    INITIALIZE_SHARE_GROUP_STATE = 83, 0, 0, 0
    READ_SHARE_GROUP_STATE = 84, 0, 0, 0
    WRITE_SHARE_GROUP_STATE = 85, 0, 1, 0
    DELETE_SHARE_GROUP_STATE = 86, 0, 0, 0
    READ_SHARE_GROUP_STATE_SUMMARY = 87, 0, 1, 0
    STREAMS_GROUP_HEARTBEAT = 88, 0, 1, 0
    STREAMS_GROUP_DESCRIBE = 89, 0, 1, 0
    DESCRIBE_SHARE_GROUP_OFFSETS = 90, 0, 1, 0
    ALTER_SHARE_GROUP_OFFSETS = 91, 0, 0, 0
    DELETE_SHARE_GROUP_OFFSETS = 92, 0, 0, 0
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93, 0, 0, 0
    UNREGISTER_CONTROLLER = 94, 0, 0, 0


_UNSTABLE = {ApiKey.INIT_PRODUCER_ID: 6}  # KIP-939


class ApiSpec(NamedTuple):
    """The specification of an API, including its message classes."""

    key: ApiKey
    name: str
    min_version: int
    max_version: int
    flexible_since: int | None
    request: type[Request]
    response: type[Response]


@cache
def spec(key: int) -> ApiSpec:
    """Return the API of `key`, with its module imported. ValueError for an unknown key."""
    api = ApiKey(key)
    module = import_module(f"barnabas.protocol.messages.{api.name.lower()}")
    request: type[Request] = getattr(module, api.api_name + "Request")
    response: type[Response] = getattr(module, api.api_name + "Response")
    return ApiSpec(api, api.api_name, api.min_version, api.max_version, api.flexible_since, request, response)


@cache
def request_codec(key: int, version: int) -> Codec[Any]:
    """Return the codec of the API's requests. ValueError for an unknown key or an unsupported version."""
    return _codec(key, version, spec(key).request)


@cache
def response_codec(key: int, version: int) -> Codec[Any]:
    """Return the codec of the API's responses. ValueError for an unknown key or an unsupported version."""
    return _codec(key, version, spec(key).response)


def _codec(key: int, version: int, message: type[Request] | type[Response]) -> Codec[Any]:
    api = ApiKey(key)
    if not api.supports(version):
        raise ValueError(f"{api.api_name} has no version {version}, only {api.min_version} to {api.newest_version}")
    return codec(message, version)
