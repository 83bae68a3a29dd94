"""What mutated requests speak of: for each field the values that mean something there, and those at the edges.

A message is made around a `Focus`: one topic, group member and producer, so that now and then everything in it fits
and only one thing is wrong.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from barnabas.protocol.records.batch import HEADER, BatchHeader, compute_crc
from barnabas.protocol.records.builder import build_batch
from tests.support.fuzz.stage import Facts, Member, Producer

INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
ODD_NAMES = ("", ".", "..", "a" * 249, "a" * 250, "with space", "nul\0", "ключ", "\U0001f981", "x/y", "missing")
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__cluster_metadata")
LONG_TEXT = "z" * 0x7FFF
CONFIG_NAMES = (
    *("cleanup.policy", "compression.type", "flush.messages", "max.message.bytes", "message.timestamp.type"),
    *("min.insync.replicas", "retention.bytes", "retention.ms", "segment.bytes", "segment.ms"),
    *("follower.replication.throttled.replicas", "no.such.key", ""),
)
CONFIG_VALUES = (
    *("0", "1", "-1", "9223372036854775807", "9223372036854775808", "1e9", "compact", "compact,delete", "delete"),
    *("LogAppendTime", "lz4", "zstd", "gzip", "true", "*", "0:1,1:1", ",".join(["0:1"] * 5_000), ""),
)
UUIDS = (bytes(16), bytes(15) + b"\1", b"\xff" * 16)
PATTERNS = (
    *(".*", "tx.*", "", "(", "[a-", "(a+)+$", "a{1000}{1000}", "\\C", "(?i)TX", "\\Q", "x**", "(?P<n>t)", "\\p{Greek}"),
)
_OF_THE_NODE: dict[str, Sequence[Any]] = {
    "path": ("/data", "/nowhere", "", "."),
    "replicas": (1, 1, 2, -1),
    "election_type": (0, 1, 2, -1),
    **dict.fromkeys(("voter_id", "broker_id", "node_id", "controller_id"), (2, 1, -1)),
    "Listener.name": ("CONTROLLER", "controller", "PLAINTEXT", ""),
    "resource_types": (2, 4, 8, 16, 32, 3),
}
_CHOICES: dict[str, Sequence[Any]] = {
    "key_type": (0, 1, 2),
    "compression_type": (0, 4, 1, 2, 3, 5, -1),
    "endpoint_type": (1, 2, 0),
    "isolation_level": (1, 0, 2),
    "config_operation": (0, 1, 2, 3, 4),
    "operation": (0, 1, 2, 3, 8, 12, 15, 99),
    "permission_type": (0, 1, 2, 3, 4),
    "resource_pattern_type": (0, 1, 2, 3, 4, 5),
    "pattern_type_filter": (0, 1, 2, 3, 4, 5),
    "resource_type_filter": (0, 1, 2, 3, 4, 7, 99),
    "transaction_version": (0, 1, 2),
}
"""The few values of a field that selects one of several kinds."""
_SMALL = (0, 0, 0, 1, 1, 2, 3, -1, -2)
_OF_QUEUES: dict[str, Sequence[Any]] = {
    "share_session_epoch": (0, 1, 2, -1, -2),
    "share_acquire_mode": (0, 1, 2, -1),
    "acknowledge_types": (1, 2, 3, 0, 4, 5, -1),
    "delivery_state": (0, 2, 4, 3, 1, -1),
    **dict.fromkeys(("first_offset", "last_offset", "start_offset"), (*_SMALL, 5, 100, (1 << 63) - 1)),
    **dict.fromkeys(("batch_size", "max_records"), (500, 1, 0, -1, 0x7FFFFFFF)),
    **dict.fromkeys(("delivery_count", "delivery_complete_count", "state_epoch"), _SMALL),
}
"""Of share groups, and of the states of share partitions."""
_OF_STREAMS: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("epoch", "topology_epoch", "endpoint_information_epoch"), (0, 1, -1, 0x7FFFFFFF)),
    "process_id": ("process", "other", ""),
    "subtopology_id": ("0", "1", ""),
    "source_topic_regex": ("t.*", "(", ""),
    "node_type": (1, 2, 3, 0, -1),
    **dict.fromkeys(("sink_topic", "stores", "successors"), ("t", "other", "")),
    **dict.fromkeys(
        (
            "CopartitionGroup.source_topics",
            "CopartitionGroup.source_topic_regex",
            "CopartitionGroup.repartition_source_topics",
        ),
        (0, 1, -1, 0x7FFF),
    ),
}
"""Of streams groups."""
_OF_ANYTHING: dict[str, Sequence[Any]] = {
    "feature": ("transaction.version", "group.version", "metadata.version", "kraft.version", "odd", ""),
    **dict.fromkeys(("max_version_level", "upgrade_type"), (2, 1, 0, 3, -1)),
    "value": CONFIG_VALUES,
    "OpData.value": (1e9, 1.0, 0.0, -1.0, 1.5, 1e30, float("inf"), float("nan"), 5e-324),
    "OpData.key": (
        *("producer_byte_rate", "consumer_byte_rate", "request_percentage"),
        *("controller_mutation_rate", "connection_creation_rate", "odd", ""),
    ),
    "entity_type": ("user", "client-id", "ip", "odd", ""),
    "entity_name": ("ANONYMOUS", "127.0.0.1", "::1", *ODD_NAMES),
    "match_type": (0, 1, 2, 3, -1),
    "match": ("ANONYMOUS", "127.0.0.1", "odd", ""),
    "SaslHandshakeRequest.mechanism": ("PLAIN", "SCRAM-SHA-256", "GSSAPI", ""),
    "mechanism": (1, 2, 0, 3, -1),  # of SCRAM, by its number
    "iterations": (4096, 8192, 4095, 16_385, 0, -1),
    **dict.fromkeys(("salt", "salted_password"), (b"salt", bytes(32), bytes(64), b"")),
    **dict.fromkeys(("owner_principal_type", "principal_type"), ("User", "Group", "")),
    **dict.fromkeys(("owner_principal_name", "principal_name"), ("ANONYMOUS", "alice", *ODD_NAMES)),
    "hmac": (bytes(64), b""),
    **dict.fromkeys(("max_lifetime_ms", "renew_period_ms", "expiry_time_period_ms"), (-1, 0, 60_000, (1 << 63) - 1)),
    "auth_bytes": (b"\0alice\0secret", b"n,,n=alice,r=nonce", b"n,,auth=Bearer x", b"\0", b""),
    "acks": (-1, -1, 1, 0, 2),
    "session_id": (0, 1),
    "session_epoch": (-1, 0, 1),
    "session_timeout_ms": (10_000, 6_000, 1_800_000, 1),
    "member_epoch": (0, 0, -1, -2, 1, 2, 3),
    "subscribed_topic_regex": ("", "t.*", "(a|b)*", "(?i:T)+", "[^a-z]{2,3}", "(", "a{1001}", "(?:" * 30 + ")" * 30),
    "server_assignor": ("uniform", "range", "odd", ""),
    **dict.fromkeys(("states_filter", "types_filter"), ("Stable", "Empty", "classic", "consumer", "odd")),
    **dict.fromkeys(
        ("partition", "partitions", "partition_index", "partition_indexes", "index", "num_partitions", "count"),
        (*_SMALL, 9_999, 10_001),
    ),
    **dict.fromkeys(("replica_id", "replication_factor", "broker_ids", "current_leader_epoch"), (-1, -1, 1, *_SMALL)),
    **dict.fromkeys(("leader_epoch", "last_fetched_epoch", "committed_leader_epoch"), (-1, *_SMALL)),
    **dict.fromkeys(("rebalance_timeout_ms", "transaction_timeout_ms"), (10_000, 0, -1, 900_001)),
    "response_partition_limit": (2, 1, 0, -1, 2_001),
    **dict.fromkeys(("max_wait_ms", "min_bytes"), (0, 0, 1, 500)),
    "timeout_ms": (500, 1, 500, 0, -1),
    **dict.fromkeys(("max_bytes", "partition_max_bytes"), (1 << 20, 0, 1, 0x7FFFFFFF)),
    **dict.fromkeys(("fetch_offset", "offset", "committed_offset"), (*_SMALL, 5, 100)),
}
"""What means the same whatever there is."""


class Focus(NamedTuple):
    """What one message is about."""

    topic: str
    topic_id: bytes
    member: Member
    producer: Producer
    now_ms: int


def focus(facts: Facts, rng: Random) -> Focus:
    """A topic, a member and a producer that exist."""
    topic = rng.choice(sorted(facts.topic_ids))
    return Focus(topic, facts.topic_ids[topic], rng.choice(facts.members), rng.choice(facts.producers), facts.now_ms)


def words(facts: Facts, at: Focus) -> dict[str, Sequence[Any]]:
    """Values by field; `Struct.field` goes before `field`. The first value of each is the focus's.

    Internal topics are not named to be deleted: that may be done, and takes the next client's group with it.
    """
    member, producer = at.member, at.producer
    transactional_ids = [each.transactional_id for each in facts.producers if each.transactional_id]
    topics = (at.topic, *facts.topic_ids, *INTERNAL_TOPICS, *ODD_NAMES)
    groups = (member.group_id, *(each.group_id for each in facts.members), "simple", *ODD_NAMES)
    config_names = dict.fromkeys(
        ("CreatableTopicConfig.name", "AlterableConfig.name", "configuration_keys"), CONFIG_NAMES
    )
    return {
        **dict.fromkeys(("name", "topic", "topic_name"), topics),
        **dict.fromkeys(("group_id", "group_ids", "groups", "groups_names"), groups),
        **dict.fromkeys(("key", "coordinator_keys"), (*groups, *transactional_ids)),
        **config_names,
        **dict.fromkeys(
            ("topic_names", "subscribed_topic_names", "DeleteTopicState.name"), (at.topic, *facts.topic_ids, *ODD_NAMES)
        ),
        "resource_name": (at.topic, "", "1", "0", *topics),
        "resource_type": (2, 4, 8, 16, 32),
        "AclCreation.resource_type": (2, 0, 1, 3, 4, 5, 6, 7, 99),
        "resource_name_filter": (at.topic, None, "*", *topics),
        **dict.fromkeys(("principal", "principal_filter"), ("User:ANONYMOUS", "User:*", "alice", ":", "", LONG_TEXT)),
        **dict.fromkeys(("AclCreation.host", "host_filter"), ("*", "127.0.0.1", "10.0.0.0/8", "/", "", LONG_TEXT)),
        "topic_id": (at.topic_id, *facts.topic_ids.values(), *UUIDS),
        "member_id": (member.member_id, "", *(each.member_id for each in facts.members), "no-such-member"),
        **dict.fromkeys(("generation_id", "generation_id_or_member_epoch"), (member.generation_id, -1, 0)),
        **dict.fromkeys(
            ("group_instance_id", "instance_id"),
            (member.instance_id or "new-instance", *(each.instance_id or "" for each in facts.members)),
        ),
        "protocol_type": ("consumer", "connect", ""),
        **dict.fromkeys(("protocol_name", "JoinGroupRequestProtocol.name"), ("range", "roundrobin", "")),
        **dict.fromkeys(
            ("transactional_id", "transactional_ids", "v3_and_below_transactional_id"),
            (producer.transactional_id or "tx-new", *transactional_ids, *ODD_NAMES),
        ),
        **dict.fromkeys(
            ("producer_id", "producer_id_filters", "v3_and_below_producer_id"),
            (producer.producer_id, -1, *(each.producer_id for each in facts.producers)),
        ),
        **dict.fromkeys(
            ("producer_epoch", "v3_and_below_producer_epoch"),
            (producer.producer_epoch, producer.producer_epoch + 1, -1, 1, 0x7FFF, 0x7FFE),
        ),
        "coordinator_epoch": (0, 1, -1, 0x7FFFFFFF),
        "state_filters": ("Ongoing", "CompleteCommit", "Odd"),
        "transactional_id_pattern": PATTERNS,
        "duration_filter": (0, -1, 1000),
        "timestamp": (-1, -2, -3, -4, -5, at.now_ms),
        "cluster_id": (facts.cluster_id, "another", ""),
        "client_instance_id": (facts.pusher.instance_id, *UUIDS),
        "subscription_id": (facts.pusher.subscription_id, 0, -1),
        "voter_directory_id": (facts.directory_id, *UUIDS),
        **dict.fromkeys(("source_topics", "repartition_sink_topics"), (at.topic, *facts.topic_ids, *ODD_NAMES)),
        **_OF_ANYTHING,
        **_OF_QUEUES,
        **_OF_STREAMS,
        **_OF_THE_NODE,
        **_CHOICES,
    }


def batch(at: Focus, rng: Random) -> bytes:
    """A record batch, or the rest of a mutated one."""
    producer_id, producer_epoch, transactional_id = at.producer if rng.random() < 0.7 else (-1, -1, None)
    built = build_batch(
        [
            (rng.choice((None, b"k")), rng.choice((None, b"v", b"x" * 300)), [("h", None)], at.now_ms)
            for _ in range(rng.choice((1, 1, 2, 50)))
        ],
        compression=rng.choice((0, 0, 0, 1, 2, 3, 4)),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=rng.choice((0, 0, 1, 0x7FFFFFFF)) if producer_id >= 0 else -1,
        transactional=rng.random() < (0.9 if transactional_id else 0.05),
        control=rng.random() < 0.05,
    )
    chance = rng.random()
    if chance < 0.4:
        return bytes(built)
    if chance < 0.5:
        return bytes(built[: rng.randrange(len(built) + 1)])
    if chance < 0.55:
        return bytes(built + built)
    if chance < 0.6:
        return rng.randbytes(rng.choice((0, 1, 60, 61, 62, 300)))
    if chance < 0.8:
        _edge_in_header(built, rng)
    else:
        for _ in range(rng.choice((1, 2, 8))):
            built[rng.randrange(HEADER.size, len(built))] = rng.randrange(256)
    if rng.random() < 0.85:
        built[17:21] = compute_crc(built).to_bytes(4, "big")
    return bytes(built)


_HEADER_BITS = (64, 32, 32, 8, 0, 16, 32, 64, 64, 64, 16, 32, 32)  # 0: the CRC, which comes last


def _edge_in_header(built: bytearray, rng: Random) -> None:
    """One field of the header at one of its edges."""
    fields = list(HEADER.unpack_from(built))
    index = rng.choice([index for index, bits in enumerate(_HEADER_BITS) if bits])
    fields[index] = edge(_HEADER_BITS[index], rng)
    HEADER.pack_into(built, 0, *BatchHeader._make(fields))


def edge(bits: int, rng: Random) -> int:
    """A signed integer where integers go wrong."""
    limit = 1 << (bits - 1)
    near = rng.choice((0, 1, -1, 2, limit - 1, -limit, limit - 2, 1 << (bits // 2)))
    return near if rng.random() < 0.8 else rng.randrange(-limit, limit)
