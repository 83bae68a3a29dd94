"""Delegation tokens that were made here are good in Apache Kafka after a handover, and those made there here."""

from base64 import b64encode
from pathlib import Path

from barnabas.client.admin.topics import describe_topics
from barnabas.client.client import Client
from barnabas.client.security.properties import security_of
from barnabas.protocol.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from barnabas.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenRequest,
)
from barnabas.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from tests.support.probes.wire import Wire
from tests.support.security.secured import SASL_PLAINTEXT, SecuredBroker, SecuredKafka, password_of
from tests.support.waiting import until

SETTINGS = {"delegation.token.secret.key": "key-of-a-test"}
OURS = SETTINGS | {"metadata.log.max.record.bytes.between.snapshots": "1"}  # a stop leaves a snapshot
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
USERS = ("alice",)
Found = dict[str, DescribedDelegationToken]


def made(wire: Wire) -> str:
    """The id of a new token of alice's."""
    renewers = [CreatableRenewers(principal_type="User", principal_name="bob")]
    answer = wire.ask(CreateDelegationTokenRequest(renewers=renewers, max_lifetime_ms=-1), 3)
    assert answer.error_code == 0, answer
    token_id: str = answer.token_id
    return token_id


def described(wire: Wire) -> Found:
    answer = wire.ask(DescribeDelegationTokenRequest(owners=None), 3)
    assert answer.error_code == 0, answer
    return {each.token_id: each for each in answer.tokens}


def log_in(port: int, token: DescribedDelegationToken) -> None:
    """Both mechanisms take the token."""
    password = b64encode(token.hmac).decode()
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        login = f'{_SCRAM} required username="{token.token_id}" password="{password}" tokenauth="true";'
        settings = {"security.protocol": SASL_PLAINTEXT, "sasl.mechanism": mechanism, "sasl.jaas.config": login}
        with Client(f"127.0.0.1:{port}", security=security_of(settings), timeout_ms=20_000) as client:
            assert describe_topics(client, []) == []


def entered(port: int) -> Wire:
    wire = Wire(port)
    wire.log_in("alice", password_of("alice"))
    return wire


def test_tokens_go_to_kafka_and_come_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with (
        SecuredBroker(data, OURS, users=USERS, has_authorizer=False) as broker,
        entered(broker.ports[SASL_PLAINTEXT]) as wire,
    ):
        made(wire), made(wire)
        before = described(wire)
        broker.stop()
    kept, gone = before.values()
    with (
        SecuredKafka(data, SETTINGS, users=USERS, has_authorizer=False) as kafka,
        entered(kafka.ports[SASL_PLAINTEXT]) as wire,
    ):
        until(lambda: described(wire) == before)
        log_in(kafka.ports[SASL_PLAINTEXT], kept)
        theirs = made(wire)
        assert wire.ask(ExpireDelegationTokenRequest(hmac=gone.hmac, expiry_time_period_ms=-1), 2).error_code == 0
        until(lambda: described(wire).keys() == {kept.token_id, theirs})
        after = described(wire)
        kafka.stop()
    with (
        SecuredBroker(data, OURS, users=USERS, has_authorizer=False) as broker,
        entered(broker.ports[SASL_PLAINTEXT]) as wire,
    ):
        assert described(wire) == after
        for token in after.values():
            log_in(broker.ports[SASL_PLAINTEXT], token)
