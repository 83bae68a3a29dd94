"""Sentences about clients that are refused: golden stories, and names that would be something else in a shell."""

import pytest

from barnabas.broker.insight.why.rules import group
from barnabas.broker.insight.why.rules.group import GroupFacts
from barnabas.broker.insight.why.rules.refused_clients import (
    LATELY_MS,
    AclFacts,
    DenialFacts,
    RefusalFacts,
    RefusedClients,
    ThrottleFacts,
    explain,
    sentences,
)
from tests.support.why import checked

AT = "k:9092"
DENIED = DenialFacts(
    "User:a",
    "10.0.0.1",
    None,
    "CreateTopics",
    "CREATE",
    "CLUSTER",
    "kafka-cluster",
    "CLUSTER_AUTHORIZATION_FAILED",
    1,
    0,
)
THROTTLED = ThrottleFacts("a", "", "request_percentage", ("user a",), 50.0, 1_500, "Metadata", "10.0.0.1:7", 2, 4_000)
REFUSED = RefusalFacts("10.0.0.1", "SASL_SSL", "Authentication failed.", 7, 60_000, "app", "PLAIN")
FIRST = "CreateTopics of User:a from 10.0.0.1 is denied"

STORIES: dict[str, tuple[RefusedClients, str]] = {
    "the cluster": (
        RefusedClients(AT, denials=(DENIED,)),
        f"{FIRST} Create on the cluster (CLUSTER_AUTHORIZATION_FAILED), 0 ms ago: no ACL allows it. "
        "`barnabas acls add --bootstrap-server k:9092 --allow-principal User:a --operation Create --cluster` does.",
    ),
    "a name that begins like an option": (
        RefusedClients(AT, denials=(DENIED._replace(resource="TOPIC", name="-x y", operation="TWO_PHASE_COMMIT"),)),
        f"{FIRST} TwoPhaseCommit on topic -x y (CLUSTER_AUTHORIZATION_FAILED), 0 ms ago: no ACL allows it. "
        "`barnabas acls add --bootstrap-server k:9092 --allow-principal User:a --operation TwoPhaseCommit "
        "--topic='-x y'` does.",
    ),
    "names that are no line": (
        RefusedClients(AT, denials=(DENIED._replace(resource="USER", name="a\nb", principal="User:\x1b"),)),
        "CreateTopics of User:\\x1b from 10.0.0.1 is denied Create on user a\\nb (CLUSTER_AUTHORIZATION_FAILED), "
        "0 ms ago: no ACL allows it. `barnabas acls add --bootstrap-server k:9092 --allow-principal NAME "
        "--operation Create --user-principal NAME` does.",
    ),
    "everybody is denied": (
        RefusedClients(
            AT, denials=(DENIED._replace(acl=AclFacts("User:*", "*", "CREATE", "kafka-cluster", "LITERAL")),)
        ),
        f"{FIRST} Create on the cluster (CLUSTER_AUTHORIZATION_FAILED), 0 ms ago: an ACL denies it, even if other "
        "ACLs allow it. `barnabas acls remove --bootstrap-server k:9092 --deny-principal 'User:*' --operation Create "
        "--cluster --resource-pattern-type literal` removes it.",
    ),
    "a client that costs too much time": (
        RefusedClients(AT, throttles=(THROTTLED,)),
        "Metadata of a client without an id (user a) from 10.0.0.1:7 was throttled, for 1.5 s, 2 times, the last 4 s "
        "ago: request_percentage of 50 % of a thread's time is all that user a may use. "
        "`barnabas quotas alter --bootstrap-server k:9092 --user a --delete request_percentage` removes the quota.",
    ),
    "a quota that is gone": (
        RefusedClients(AT, throttles=(THROTTLED._replace(entity=(), limit=None),)),
        "Metadata of a client without an id (user a) from 10.0.0.1:7 was throttled, for 1.5 s, 2 times, the last 4 s "
        "ago: its quota request_percentage was removed since then.",
    ),
    "a throttle that lasts": (
        RefusedClients(AT, throttles=(THROTTLED._replace(throttle_ms=4_000, is_set=False),)),
        "Metadata of a client without an id (user a) from 10.0.0.1:7 is throttled, for 4 s, 2 times, the last 4 s "
        "ago: its quota request_percentage was removed since then.",
    ),
    "a client that may be meant": (
        RefusedClients(AT, "transactional id", refusals=(REFUSED._replace(is_sure=False, reason="is it TLS?"),)),
        "A client (client app) from 10.0.0.1, which may use this transactional id, could not authenticate at listener "
        "SASL_SSL with PLAIN, 7 times, the last 1 min ago: is it TLS?",
    ),
    "a login": (
        RefusedClients(AT, refusals=(REFUSED,)),
        "A client (client app) from 10.0.0.1 could not authenticate at listener SASL_SSL with PLAIN, 7 times, the last "
        "1 min ago: Authentication failed.",
    ),
    "a session": (
        RefusedClients(AT, refusals=(REFUSED._replace(is_again=True, mechanism=None, reason="it has expired"),)),
        "A client (client app) from 10.0.0.1 could not re-authenticate at listener SASL_SSL, 7 times, the last 1 min "
        "ago: it has expired.",
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_client_is_refused(story: str) -> None:
    facts, sentence = STORIES[story]
    assert checked(explain(facts)).sentences == (sentence,)


def test_of_many_some_are_reported() -> None:
    told = sentences(RefusedClients(AT, denials=(DENIED,) * 5, refusals=(REFUSED,) * 4))
    assert len(told) == 7
    assert told[-1] == "3 more cases of clients that were refused or throttled are in the evidence."


@pytest.mark.parametrize(("ago_ms", "is_first"), [(3_000, True), (LATELY_MS + 1, False)])
def test_old_refusals_are_listed_below_current_causes(ago_ms: int, is_first: bool) -> None:
    facts = GroupFacts("g", state="Stable", members_count=1)
    refused = RefusedClients("b:1", "g", refusals=(REFUSED._replace(ago_ms=ago_ms),))
    told = checked(group.explain(facts._replace(kept_out=refused))).sentences
    assert ["waits for no member" in each for each in told] == [not is_first, is_first]
