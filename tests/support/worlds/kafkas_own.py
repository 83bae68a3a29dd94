"""What only Apache Kafka understands, in a directory that changes hands: users, quotas, access rules, share groups.

Kafka makes them in one turn; in a later one they have to be as they were, whatever another broker did between.
"""

from collections.abc import Iterable
from typing import Any

from barnabas.client.client import GROUP, Client
from barnabas.client.clock import Deadline
from barnabas.client.errors import raise_for
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest
from barnabas.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from barnabas.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

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
ANY, MATCH_LITERAL, ALLOW, READ, TOPIC = 1, 3, 3, 3, 2


def make(client: Client, turn: int) -> None:
    """Users, quotas and rules of this turn; the user of the turn before goes."""
    _all_done(
        client.ask_any(
            AlterUserScramCredentialsRequest(
                deletions=[ScramCredentialDeletion(name=f"user-{turn - 1}", mechanism=1)] if turn > 1 else [],
                upsertions=[
                    ScramCredentialUpsertion(
                        name=f"user-{number}", mechanism=1, iterations=4096, salt=b"salt", salted_password=bytes(32)
                    )
                    for number in (turn, 100 + turn)
                ],
            )
        ).results
    )
    entity = [EntityData(entity_type="user", entity_name=f"user-{turn}")]
    limits = [OpData(key="producer_byte_rate", value=1000.0 + turn, remove=False)]
    entry = AlterClientQuotasRequestEntryData(entity=entity, ops=limits)
    _all_done(client.ask_any(AlterClientQuotasRequest(entries=[entry], validate_only=False)).entries)
    rule = AclCreation(
        resource_type=TOPIC,
        resource_name="words",
        principal=f"User:user-{turn}",
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )
    _all_done(client.ask_any(CreateAclsRequest(creations=[rule])).results)


def told(client: Client) -> dict[str, list[Any]]:
    """All that was made, as Kafka tells it, in order."""
    users = client.ask_any(DescribeUserScramCredentialsRequest(users=None))
    quotas = client.ask_any(DescribeClientQuotasRequest(components=[], strict=False))
    rules = client.ask_any(
        DescribeAclsRequest(
            resource_type_filter=ANY,
            resource_name_filter=None,
            pattern_type_filter=ANY,
            principal_filter=None,
            host_filter=None,
            operation=ANY,
            permission_type=ANY,
        )
    )
    for answer in (users, quotas, rules):
        raise_for(answer.error_code, answer.error_message, "a description")
    found = ((each.user, each.credential_infos[0]) for each in users.results)
    return {
        "users": sorted((user, info.mechanism, info.iterations) for user, info in found),
        "quotas": sorted((each.entity[0].entity_name, each.values[0].value) for each in quotas.entries),
        "rules": sorted((acl.principal, acl.operation) for each in rules.resources for acl in each.acls),
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


def _all_done(results: Iterable[Any]) -> None:
    for result in results:
        raise_for(result.error_code, result.error_message, "a change")
