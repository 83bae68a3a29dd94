"""The command that `why` names for a right that is missing ends the refusal."""

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka import admin as admin_client

from barnabas import Barnabas
from barnabas.broker.cli import main

TO_PAYMENTS = admin_client.ResourceType.TOPIC, "payments", admin_client.ResourcePatternType.LITERAL


def deny(admin: admin_client.AdminClient) -> None:
    """Whatever others allow."""
    denied = admin_client.AclBinding(
        *TO_PAYMENTS, "User:client", "*", admin_client.AclOperation.WRITE, admin_client.AclPermissionType.DENY
    )
    for added in admin.create_acls([denied]).values():
        added.result(30)


def allow_no_more(admin: admin_client.AdminClient) -> None:
    """What the first start of a secured broker allowed."""
    every_topic = admin_client.ResourceType.TOPIC, "*", admin_client.ResourcePatternType.LITERAL
    allowed = admin_client.AclBindingFilter(
        *every_topic, "User:client", "*", admin_client.AclOperation.WRITE, admin_client.AclPermissionType.ALLOW
    )
    for removed in admin.delete_acls([allowed]).values():
        assert len(removed.result(30)) == 1


def error_of_produce(settings: Mapping[str, str]) -> str | None:
    """What became of one record of a new producer: librdkafka remembers for a while what it was refused."""
    producer = Producer(dict(settings))
    errors: list[str | None] = []
    producer.produce(
        "payments", b"v", on_delivery=lambda error, _: errors.append(None if error is None else error.name())
    )
    assert producer.flush(30) == 0
    return errors[0]


@pytest.mark.parametrize("refuse", [deny, allow_no_more])
def test_the_command_ends_it(tmp_path: Path, refuse: Callable[[admin_client.AdminClient], None]) -> None:
    with Barnabas(secure=True, topics=["payments"]) as broker:
        refuse(admin_client.AdminClient({**broker.client_settings("librdkafka", user="admin")}))
        client = broker.client_settings("librdkafka")
        assert error_of_produce(client) == "TOPIC_AUTHORIZATION_FAILED"
        (command,) = re.findall("`(.*)`", str(broker.why.hanging()["clients"]))
        name, *words = shlex.split(command)
        assert name == "barnabas"
        settings = broker.client_settings("java", user="admin")
        file = tmp_path / "admin.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        assert main([*words, "--command-config", str(file)]) == 0
        assert error_of_produce(client) is None
        assert "clients" not in broker.why.hanging()
