"""The settings that clients of a secured broker need, under the names of each kind of client. Pure.

Java's clients and tools, librdkafka (confluent-kafka, kcat), kafka-python, and Spark's connector and ours. Java and
librdkafka read a file; for the others it is the arguments and the options, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from barnabas.protocol.files.properties import ascii_value

MECHANISM = "PLAIN"


def java(bootstrap: str, authority: str, user: str, password: str) -> dict[str, str]:
    """Return the settings of Java's clients. `authority`: the path of the trusted certificate."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.jaas.config": f'{login} required username="{user}" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority,
    }


def librdkafka(bootstrap: str, authority: str, user: str, password: str) -> dict[str, str]:
    """Return the settings of librdkafka."""
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": MECHANISM,
        "sasl.username": user,
        "sasl.password": password,
        "ssl.ca.location": authority,
    }


def kafka_python(bootstrap: str, authority: str, user: str, password: str) -> dict[str, str]:
    """Return the arguments of kafka-python's classes."""
    return {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": MECHANISM,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
        "ssl_cafile": authority,
    }


def spark(bootstrap: str, authority: str, user: str, password: str) -> dict[str, str]:
    """Return the options of Spark's Kafka connector, and of ours."""
    return {f"kafka.{key}": text for key, text in java(bootstrap, authority, user, password).items()}


def files(bootstrap: str, authority: str, passwords: Mapping[str, str]) -> dict[str, str]:
    """Return the content of the clients' files by name: those of the user `client`, and Java's of `admin`."""
    parameters = bootstrap, authority, "client", passwords["client"]
    return {
        "client.properties": _properties(java(*parameters)),
        "admin.properties": _properties(java(bootstrap, authority, "admin", passwords["admin"])),
        "librdkafka.properties": "".join(f"{key}={_escaped(text)}\n" for key, text in librdkafka(*parameters).items()),
        "kafka-python.json": json.dumps(kafka_python(*parameters), indent=2) + "\n",
        "spark.json": json.dumps(spark(*parameters), indent=2) + "\n",
    }


def _properties(settings: Mapping[str, str]) -> str:
    """Return settings in the format of a Java properties file."""
    return "".join(f"{key}={ascii_value(text)}\n" for key, text in settings.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")
