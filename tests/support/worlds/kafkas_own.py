"""What only Apache Kafka understands, in a directory that changes hands: users, quotas, access rules, share groups.

Kafka makes them in one turn; in a later one they have to be as they were, whatever another broker did between.
"""

from typing import Any

from barnabas.client.admin.acls import AclBinding, AclBindingFilter, create_acls, describe_acls
from barnabas.client.admin.quotas import alter_quotas, describe_quotas
from barnabas.client.admin.scram import NewPassword, alter_credentials, describe_credentials
from barnabas.client.client import GROUP, Client
from barnabas.client.clock import Deadline
from barnabas.client.errors import raise_for
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.protocol.security.scram import SCRAM_SHA_256

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "metadata.log.max.record.bytes.between.snapshots": 1,
    "log.cleaner.backoff.ms": 50,
    "log.cleaner.dedupe.buffer.size": 4 << 20,
    "broker.heartbeat.interval.ms": 300,
    "broker.session.timeout.ms": 2000,
}
"""Kafka keeps rules, cleans at once, takes a metadata checkpoint after every change, and knows soon of a kill."""
LITERAL, ALLOW, READ, TOPIC = 3, 3, 3, 2


def make(client: Client, turn: int) -> None:
    """Users, quotas and rules of this turn; the user of the turn before goes."""
    for number in (turn, 100 + turn):
        alter_credentials(client, f"user-{number}", {SCRAM_SHA_256: NewPassword(4096, "secret", b"salt")})
    if turn > 1:
        alter_credentials(client, f"user-{turn - 1}", {}, [SCRAM_SHA_256])
    alter_quotas(client, {"user": f"user-{turn}"}, {"producer_byte_rate": 1000.0 + turn})
    create_acls(client, [AclBinding(TOPIC, "words", LITERAL, f"User:user-{turn}", "*", READ, ALLOW)])


def told(client: Client) -> dict[str, list[Any]]:
    """All that was made, as Kafka describes it, in order."""
    return {
        "users": sorted((user, *found.items()) for user, found in describe_credentials(client).items()),
        "quotas": sorted((each.entity["user"], each.quotas["producer_byte_rate"]) for each in describe_quotas(client)),
        "rules": [(each.principal, each.operation) for each in describe_acls(client, AclBindingFilter())],
    }


def join_share_group(client: Client, group: str, topic: str) -> None:
    """Have a share group, with a member that leaves again: its records stay in `__consumer_offsets`."""
    member = "AAAAAAAAAAAAAAAAAAAAAQ"
    for epoch, topics in ((0, [topic]), (-1, None)):
        deadline = client.deadline()
        request = ShareGroupHeartbeatRequest(
            group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=topics
        )

        def attempt(request: ShareGroupHeartbeatRequest = request, deadline: Deadline = deadline) -> None:
            answer: Any = client.coordinator(GROUP, group, deadline).ask(request, deadline)
            raise_for(answer.error_code, answer.error_message, f"share group {group!r}")

        client.with_retries(attempt, deadline, lambda error: client.forget_coordinator(GROUP, group))
