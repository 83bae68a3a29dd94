"""The kinds of events: a table, and nothing else. Each has a name, a text that says what happened, and the names of its
facts.

An event of a kind is reported where it happens, by exactly one part of the broker. The kinds at which a test may pause
or kill the broker, or have a write fail, are marked: some of them cannot pause the work, since what follows is one step
with what came before.

Coordinators report where the runtime carries out a decision, and not in each decision: there are forty, and the next
one would be forgotten.

Facts are texts, numbers, truth values, None, or short lists of texts. Where there may be many partitions only some are
reported (events/bounded_facts.py), beside their number. The cause of an event is not one of its facts: it is reported
beside it (cause.py).
"""

from __future__ import annotations

from barnabas.broker.runtime.events.kind import EventKind

# --- requests and connections ----------------------------------------------------------------------------------------

REQUEST_ANSWERED = EventKind(
    "request.answered",
    "a request was answered; of requests that carry data, and of those that clients repeat all the time, only errors, "
    "unless a client follows all requests",
    ("api", "version", "error", "took_ms"),
)
CONNECTION_OPENED = EventKind("connection.opened", "a client has connected", ("peer", "connections"))
CONNECTION_CLOSED = EventKind(
    "connection.closed", "the broker closed a connection", ("peer", "client_id", "api", "reason")
)
CONNECTION_AUTHENTICATED = EventKind(
    "connection.authenticated",
    "a client has authenticated; again: before its session ended",
    ("peer", "listener", "mechanism", "principal", "is_again"),
)
CONNECTION_NOT_AUTHENTICATED = EventKind(
    "connection.not_authenticated",
    "a client failed to authenticate, or to re-authenticate before its session ended, and its connection is closed; "
    "count: how often since the last such event",
    ("peer", "host", "client_id", "listener", "mechanism", "reason", "is_again", "count"),
)
HANDSHAKE_FAILED = EventKind(
    "connection.handshake_failed",
    "a peer got no further than its TLS handshake; count: how often since the last such event",
    ("peer", "host", "listener", "reason", "count"),
)
CONNECTION_THROTTLED = EventKind(
    "connection.throttled",
    "a connection arrived sooner than a limit allows: it waits, or is closed without being served; count: how often "
    "since the last such event",
    ("peer", "host", "listener", "limit", "wait_ms", "is_refused", "count"),
)
CONNECTION_ENDED = EventKind("connection.ended", "a connection has ended", ("peer", "client_id", "connections"))

# --- rights and quotas -----------------------------------------------------------------------------------------------

ACCESS_DENIED = EventKind(
    "access.denied",
    "a client requested an operation that it is not authorized for; count: how often since the last such event",
    (
        "principal",
        "host",
        "client_id",
        "api",
        "operation",
        "resource",
        "topic",
        "group",
        "transactional_id",
        "name",
        "rule",
        "count",
    ),
)
CLIENT_THROTTLED = EventKind(
    "client.throttled",
    "a client used more than its quota, and its connection is not served for throttle_ms; count: how often since the "
    "last such event",
    ("user", "client_id", "quota", "entity", "limit", "throttle_ms", "api", "peer", "count"),
)

# --- producers and transactions --------------------------------------------------------------------------------------

PRODUCER_ID_GIVEN = EventKind(
    "producer.id_given",
    "InitProducerId: a producer has its id and epoch, and those given for its transactional id before are invalid",
    (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "previous_producer_id",
        "previous_producer_epoch",
        "timeout_ms",
    ),
)
PRODUCER_FENCED = EventKind(
    "producer.fenced",
    "a producer may not continue: another one started with its transactional id, or its transaction timed out",
    ("transactional_id", "producer_id", "producer_epoch", "new_producer_epoch", "why"),
)
PRODUCE_REFUSED = EventKind(
    "producer.refused",
    "a batch of a producer was not appended",
    ("topic", "partition", "error", "producer_id", "producer_epoch"),
)
PRODUCER_IDS_EXPIRED = EventKind(
    "producer.ids_expired",
    "a partition forgot producers that had not written for producer.id.expiration.ms",
    ("topic", "partition", "producer_ids", "producers_count"),
)
FETCH_REFUSED = EventKind(
    "fetch.refused",
    "a Fetch was answered with an error, for a partition or (topic None) as a whole; errors_count counts the "
    "partitions of the answer that have one, and the first 20 have an event",
    ("topic", "partition", "error", "fetch_offset", "errors_count"),
)
TRANSACTION_REFUSED = EventKind(
    "transaction.refused",
    "a request about a transactional id was refused",
    ("transactional_id", "error", "why", "state", "producer_id", "producer_epoch"),
)
TRANSACTION_WRITING = EventKind(
    "transaction.record_writing",
    "a record is about to be written to __transaction_state; state None removes the id",
    ("transactional_id", "state", "producer_id", "producer_epoch"),
    may_crash=True,
)
TRANSACTION_WRITTEN = EventKind(
    "transaction.record_written",
    "the record is in __transaction_state; no client has been answered",
    ("transactional_id", "state", "producer_id", "producer_epoch", "partition", "offset"),
    may_crash=True,
)
TRANSACTION_BEGUN = EventKind(
    "transaction.begun",
    "the first partition was added: a transaction is open",
    ("transactional_id", "producer_id", "producer_epoch", "timeout_ms"),
)
TRANSACTION_PARTITIONS_ADDED = EventKind(
    "transaction.partitions_added",
    "partitions of topics were added to a transaction",
    ("transactional_id", "producer_id", "producer_epoch", "partitions", "partitions_count"),
)
TRANSACTION_GROUP_ADDED = EventKind(
    "transaction.group_added",
    "a group was added to a transaction, by its partition of __consumer_offsets",
    ("transactional_id", "producer_id", "producer_epoch", "group", "partition"),
)
TRANSACTION_TIMED_OUT = EventKind(
    "transaction.timed_out",
    "a transaction was open for longer than its producer allowed, and is aborted",
    ("transactional_id", "producer_id", "producer_epoch", "timeout_ms", "open_for_ms"),
)
TRANSACTION_PREPARED = EventKind(
    "transaction.prepared",
    "the end of a transaction is decided and in the log; no marker is written yet",
    ("transactional_id", "producer_id", "producer_epoch", "is_commit", "partitions", "partitions_count"),
    may_crash=True,
    may_pause=True,
)
MARKER_WRITING = EventKind(
    "transaction.marker_writing",
    "a marker is about to be written; position counts the transaction's partitions from 1",
    ("transactional_id", "producer_id", "producer_epoch", "is_commit", "topic", "partition", "position"),
    may_crash=True,
    may_pause=True,
)
MARKER_WRITTEN = EventKind(
    "transaction.marker_written",
    "the marker is in the partition's log; readers do not see it yet",
    ("transactional_id", "producer_id", "producer_epoch", "is_commit", "topic", "partition", "position"),
    may_crash=True,
    may_pause=True,
)
MARKER_REFUSED = EventKind(
    "transaction.marker_refused",
    "a partition refused its marker: it was deleted, or the broker retries",
    (
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "is_commit",
        "topic",
        "partition",
        "position",
        "error",
        "is_tried_again",
    ),
)
TRANSACTION_MARKED = EventKind(
    "transaction.marked",
    "every partition has its marker, and readers see the end; the transaction is not complete yet",
    ("transactional_id", "producer_id", "producer_epoch", "is_commit", "partitions", "partitions_count"),
    may_crash=True,
    may_pause=True,
)
TRANSACTION_COMPLETED = EventKind(
    "transaction.completed",
    "the transaction is complete; the next one may begin",
    ("transactional_id", "producer_id", "producer_epoch", "is_commit"),
    may_crash=True,
)
TRANSACTIONAL_ID_EXPIRED = EventKind(
    "transaction.id_expired",
    "a transactional id that was not used for long was removed",
    ("transactional_id", "producer_id", "producer_epoch"),
)

# --- groups ----------------------------------------------------------------------------------------------------------

GROUP_WRITING = EventKind(
    "group.record_writing",
    "records of a group, its members and assignments, are about to be written to __consumer_offsets",
    ("group", "records_count"),
    may_crash=True,
)
GROUP_WRITTEN = EventKind(
    "group.record_written",
    "the records are in __consumer_offsets; no client has been answered",
    ("group", "records_count", "partition", "offset"),
    may_crash=True,
)
MEMBER_JOINED = EventKind(
    "group.member_joined", "a group has a new member", ("group", "member_id", "client_id", "members_count")
)
MEMBER_LEFT = EventKind(
    "group.member_left",
    "a member left, was removed, or missed a rebalance",
    ("group", "member_id", "why", "members_count"),
)
SESSION_EXPIRED = EventKind(
    "group.session_expired",
    "a member sent no heartbeat for its session timeout, and is removed from the group",
    ("group", "member_id", "session_timeout_ms", "members_count"),
)
REBALANCE_BEGUN = EventKind(
    "group.rebalance_begun",
    "a rebalance begins; generation is that before it, or for a consumer group the new group epoch",
    ("group", "protocol", "generation", "why", "members_count"),
    may_crash=True,
)
GENERATION_FORMED = EventKind(
    "group.generation_formed",
    "all members have joined, or the time to join is over: a generation of a classic group waits for its assignment",
    ("group", "generation", "leader_id", "assignor", "members_count"),
    may_crash=True,
)
ASSIGNMENT_MADE = EventKind(
    "group.assignment_made",
    "it is decided which member has which partitions",
    ("group", "protocol", "generation", "members_count"),
    may_crash=True,
)
REBALANCE_COMPLETED = EventKind(
    "group.rebalance_completed",
    "a group is stable, or has no member left",
    ("group", "protocol", "generation", "members_count"),
    may_crash=True,
)
OFFSETS_COMMITTED = EventKind(
    "group.offsets_committed",
    "offsets were committed; those of a transaction (producer_id) count from its commit on",
    ("group", "offsets", "offsets_count", "producer_id", "producer_epoch"),
)
OFFSETS_DELETED = EventKind(
    "group.offsets_deleted",
    "committed offsets were deleted, or expired",
    ("group", "offsets", "offsets_count"),
)

# --- share groups ----------------------------------------------------------------------------------------------------

_STATE = ("group", "topic", "partition", "delivery_states")
SHARE_WRITING = EventKind(
    "share.record_writing",
    "a change of a share partition's state is about to be written to __share_group_state; delivery_states are those of "
    "the records that change (available, acknowledged, archiving, archived)",
    _STATE,
    may_crash=True,
    may_pause=True,
    may_fail=True,
)
SHARE_WRITTEN = EventKind(
    "share.record_written",
    "the change is in __share_group_state; no client has been answered",
    _STATE,
    may_crash=True,
    may_pause=True,
)
_RECORDS = ("group", "topic", "partition", "ranges", "records_count")
SHARE_ACQUIRED = EventKind(
    "share.acquired",
    "a member of a share group acquired records; ranges are those of offsets, the first 20 of them, and delivery_count "
    "is the highest of the records",
    (*_RECORDS, "member_id", "delivery_count", "lock_ms"),
)
SHARE_ACKNOWLEDGED = EventKind(
    "share.acknowledged",
    "a member's acknowledgements of one type (accept, release, reject, renew, gap) are stored",
    (*_RECORDS, "member_id", "type"),
    may_crash=True,
)
SHARE_RELEASED = EventKind(
    "share.released",
    "a member holds records no longer, since its session ended: they are available again, or archived",
    (*_RECORDS, "member_id"),
)
SHARE_LOCK_ENDED = EventKind(
    "share.lock_ended",
    "a member holds records no longer, since it had them for too long: they are available again, or archived",
    (*_RECORDS, "member_id"),
)
SHARE_ARCHIVED = EventKind(
    "share.archived", "records will not be delivered again, though no member accepted them", (*_RECORDS, "why")
)
SHARE_RESET = EventKind(
    "share.reset",
    "a request set the offset at which a share group without members begins in a partition; start_offset None: its "
    "state was deleted, and it begins where share.auto.offset.reset says, as with -1",
    ("group", "topic", "partition", "start_offset"),
)
SHARE_DEAD_LETTERS_WRITING = EventKind(
    "share.dead_letters_writing",
    "records are stored as archiving, and are about to be written to a dead-letter topic in one batch, perhaps again",
    (*_RECORDS, "dead_letter_topic", "dead_letter_partition"),
    may_crash=True,
    may_pause=True,
    may_fail=True,
)
SHARE_DEAD_LETTERS_WRITTEN = EventKind(
    "share.dead_letters_written",
    "they were written to the dead-letter topic, from dead_letter_offset on, and are not stored as archived yet",
    (*_RECORDS, "dead_letter_topic", "dead_letter_partition", "dead_letter_offset"),
    may_crash=True,
    may_pause=True,
)
SHARE_DEAD_LETTERS_LOST = EventKind(
    "share.dead_letters_lost",
    "archived records could not be written to a dead-letter topic",
    (*_RECORDS, "dead_letter_topic", "why"),
)

# --- logs and topics -------------------------------------------------------------------------------------------------

FLUSH_BEGUN = EventKind(
    "log.flush_begun",
    "a round of fsync begins; only what waits for the disk is flushed in rounds",
    ("partitions", "partitions_count"),
    may_crash=True,
)
FLUSH_ENDED = EventKind(
    "log.flush_ended",
    "the round is over, and the clients that waited for it are about to be answered",
    ("partitions_count", "failed_count"),
    may_crash=True,
)
SEGMENT_ROLLING = EventKind(
    "log.segment_rolling",
    "the active segment is full: it is about to be sealed",
    ("topic", "partition", "base_offset"),
    may_crash=True,
)
SEGMENT_ROLLED = EventKind(
    "log.segment_rolled",
    "the next segment exists, and is empty",
    ("topic", "partition", "base_offset"),
    may_crash=True,
)
SEGMENT_DELETED = EventKind("log.segment_deleted", "retention deleted a segment", ("topic", "partition", "reason"))
LOG_CLEANED = EventKind(
    "log.cleaned", "a log was compacted", ("topic", "partition", "bytes_before", "bytes_after", "records_kept")
)
TOPIC_CREATING = EventKind(
    "topic.creating",
    "topics are about to be written to the catalogue",
    ("topics", "topics_count"),
    may_crash=True,
)
TOPIC_CREATED = EventKind(
    "topic.created",
    "a topic is in the catalogue; no client has been answered",
    ("topic", "partitions_count"),
    may_crash=True,
)
TOPIC_DELETED = EventKind("topic.deleted", "a topic was deleted", ("topic", "partitions_count"))

# --- the cluster, the clock, faults ----------------------------------------------------------------------------------

LEADER_MOVED = EventKind(
    "cluster.leader_moved",
    "another node leads a partition; of __transaction_state and __consumer_offsets it is the coordinator now",
    ("topic", "partition", "was", "now"),
)
NODE_STOPPED = EventKind("cluster.node_stopped", "a node was stopped", ("node",))
NODE_STARTED = EventKind("cluster.node_started", "a node was started", ("node",))
CLOCK_CHANGED = EventKind(
    "clock.changed",
    "the clock was frozen, moved or started again",
    ("state", "ahead_ms"),
)
FAULT_CHANGED = EventKind("fault.changed", "a fault was armed, released or disarmed", ("fault", "change"))
FAULT_FIRED = EventKind(
    "fault.fired",
    "an armed fault took effect: on a request, at a point, or on the disk",
    ("fault", "does", "count", "api", "node", "client_id", "connection", "point", "disk", "file", "topic", "partition"),
)

_ALL = tuple(each for each in list(globals().values()) if isinstance(each, EventKind))
KINDS: dict[str, EventKind] = {kind.name: kind for kind in _ALL}
"""All kinds, by name, in the order in which the documentation lists them."""
