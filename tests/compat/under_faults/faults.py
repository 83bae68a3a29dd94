"""The kinds of faults that clients are put under, each as what it does to one request."""

from typing import Any

ERRORS = {  # that a client may try again
    "Produce": "NOT_LEADER_OR_FOLLOWER",
    "Fetch": "NOT_LEADER_OR_FOLLOWER",
    "InitProducerId": "COORDINATOR_LOAD_IN_PROGRESS",
    "AddPartitionsToTxn": "CONCURRENT_TRANSACTIONS",
    "TxnOffsetCommit": "COORDINATOR_LOAD_IN_PROGRESS",
    "EndTxn": "NOT_COORDINATOR",
    "JoinGroup": "NOT_COORDINATOR",
    "OffsetCommit": "NOT_COORDINATOR",
}
FINAL_ERRORS = {
    "Produce": "TOPIC_AUTHORIZATION_FAILED",
    "Fetch": "TOPIC_AUTHORIZATION_FAILED",
    "InitProducerId": "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "AddPartitionsToTxn": "PRODUCER_FENCED",
    "TxnOffsetCommit": "ILLEGAL_GENERATION",
    "EndTxn": "PRODUCER_FENCED",
    "JoinGroup": "GROUP_AUTHORIZATION_FAILED",
    "OffsetCommit": "ILLEGAL_GENERATION",
}
KINDS = (
    *("error", "final error", "delay", "drop", "lose_answer", "cut before", "cut middle", "cut after", "throttle"),
    "pause",
)


def fault(kind: str, api: str) -> dict[str, Any]:
    """As `FaultsHandle.arm` takes it."""
    if kind == "final error":
        return {"name": "it", "api": api, "error": FINAL_ERRORS[api]}
    what, _, where = kind.partition(" ")
    value = {"error": ERRORS[api], "delay": "500ms", "cut": where, "throttle": 2000}.get(what, True)
    return {"name": "it", "api": api, what: value}
