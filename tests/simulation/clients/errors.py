"""Which errors a stock client tries again, which end a transaction, and which end a producer."""

from barnabas.protocol.errors import ErrorCode as E

TRY_AGAIN = frozenset(
    {
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.COORDINATOR_NOT_AVAILABLE,
        E.NOT_COORDINATOR,
        E.CONCURRENT_TRANSACTIONS,
        E.NOT_LEADER_OR_FOLLOWER,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.UNKNOWN_TOPIC_ID,
        E.KAFKA_STORAGE_ERROR,
        E.NOT_ENOUGH_REPLICAS,
        E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        E.REQUEST_TIMED_OUT,
        E.UNSTABLE_OFFSET_COMMIT,
        E.OFFSET_NOT_AVAILABLE,
    }
)
COORDINATOR_MOVES = frozenset({E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR})
"""What a coordinator says, too, that could not see the end of what it had begun to write."""
ADMIN_TRIES_AGAIN = TRY_AGAIN - {E.UNKNOWN_TOPIC_ID} | {E.NOT_CONTROLLER, E.THROTTLING_QUOTA_EXCEEDED}
FENCED = frozenset(
    {
        E.INVALID_PRODUCER_EPOCH,
        E.PRODUCER_FENCED,
        E.INVALID_PRODUCER_ID_MAPPING,
    }
)
IS_WRITTEN = frozenset({E.NONE, E.DUPLICATE_SEQUENCE_NUMBER})
IS_BEHIND = frozenset({E.OUT_OF_ORDER_SEQUENCE_NUMBER, E.UNKNOWN_PRODUCER_ID})
"""What a record gets whose predecessor is missing, as where that was refused for now."""


class Fenced(Exception):
    """The producer's epoch is over; `args[0]` is the broker's error."""


class Unusable(Exception):
    """The transaction cannot be gone on with; `args[0]` is the broker's error."""


class GaveUp(Unusable):
    """It cannot, since the producer has no more patience: what it sent may arrive yet."""
