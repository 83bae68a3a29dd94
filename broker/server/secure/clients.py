"""The settings that clients of a secured broker need, under the names of each kind of client. Pure.

Java's clients and tools, librdkafka (confluent-kafka, kcat), kafka-python, and Spark's connector and ours. Java and
librdkafka read a file; for the others it is the arguments and the options, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.protocol.files.properties import ascii_value

MECHANISM = "PLAIN"


class ClientLogin(NamedTuple):
    """The address of a secured broker, and the user that a client logs in as."""

    bootstrap: str
    """Addresses of the broker."""
    authority: str
    """The path of the trusted certificate."""
    user: str
    password: str


def java(login: ClientLogin) -> dict[str, str]:
    """Return the settings of Java's clients."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "bootstrap.servers": login.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.jaas.config": f'{module} required username="{login.user}" password="{login.password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": login.authority,
    }


def librdkafka(login: ClientLogin) -> dict[str, str]:
    """Return the settings of librdkafka."""
    return {
        "bootstrap.servers": login.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.username": login.user,
        "sasl.password": login.password,
        "ssl.ca.location": login.authority,
    }


def kafka_python(login: ClientLogin) -> dict[str, str]:
    """Return the arguments of kafka-python's classes."""
    return {
        "bootstrap_servers": login.bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": MECHANISM,
        "sasl_plain_username": login.user,
        "sasl_plain_password": login.password,
        "ssl_cafile": login.authority,
    }


def spark(login: ClientLogin) -> dict[str, str]:
    """Return the options of Spark's Kafka connector, and of ours."""
    return {f"kafka.{key}": text for key, text in java(login).items()}


def files(bootstrap: str, authority: str, passwords: Mapping[str, str]) -> dict[str, str]:
    """Return the content of the clients' files by name: those of the user `client`, and Java's of `admin`."""
    login = ClientLogin(bootstrap, authority, user="client", password=passwords["client"])
    admin = ClientLogin(bootstrap, authority, user="admin", password=passwords["admin"])
    return {
        "client.properties": _properties(java(login)),
        "admin.properties": _properties(java(admin)),
        "librdkafka.properties": "".join(f"{key}={_escaped(text)}\n" for key, text in librdkafka(login).items()),
        "kafka-python.json": json.dumps(kafka_python(login), indent=2) + "\n",
        "spark.json": json.dumps(spark(login), indent=2) + "\n",
    }


def _properties(settings: Mapping[str, str]) -> str:
    """Return settings in the format of a Java properties file."""
    return "".join(f"{key}={ascii_value(text)}\n" for key, text in settings.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")
