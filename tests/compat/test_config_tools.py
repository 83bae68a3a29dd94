"""Kafka's tools for the settings of groups, of client metrics and of the broker's loggers."""

import re

import pytest

from tests.compat.tools import CLIENT_METRICS, CONFIGS, Tools, settings
from tests.support.processes.server import Server

OF_LOGGERS = ("--entity-type", "broker-loggers", "--entity-name", "1")

# --- groups ---


def of_group(name: str) -> tuple[str, ...]:
    return ("--entity-type", "groups", "--entity-name", name)


def test_a_groups_settings_are_changed_and_described(server: Server, tools: Tools) -> None:
    change = "consumer.session.timeout.ms=50000,consumer.heartbeat.interval.ms=6000"
    said = tools.ask(server, CONFIGS, "--alter", *of_group("tuned"), "--add-config", change)
    assert said == "Completed updating config for group tuned.\n"
    described = tools.ask(server, CONFIGS, "--describe", *of_group("tuned"))
    assert described.startswith("Dynamic configs for group tuned are:\n")
    assert settings(described) == {
        "consumer.heartbeat.interval.ms": "6000 {DYNAMIC_GROUP_CONFIG:consumer.heartbeat.interval.ms=6000,"
        " DEFAULT_CONFIG:group.consumer.heartbeat.interval.ms=5000}",
        "consumer.session.timeout.ms": "50000 {DYNAMIC_GROUP_CONFIG:consumer.session.timeout.ms=50000,"
        " DEFAULT_CONFIG:group.consumer.session.timeout.ms=45000}",
    }
    assert "Dynamic configs for group tuned are:\n" in tools.ask(
        server, CONFIGS, "--describe", "--entity-type", "groups"
    )
    names = "consumer.session.timeout.ms,consumer.heartbeat.interval.ms"
    tools.ask(server, CONFIGS, "--alter", *of_group("tuned"), "--delete-config", names)
    assert settings(tools.ask(server, CONFIGS, "--describe", *of_group("tuned"))) == {}


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (
            "consumer.session.timeout.ms=1000",
            "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
        ),
        ("consumer.heartbeat.interval.ms=x", "Invalid value x for configuration consumer.heartbeat.interval.ms"),
        ("no.such.key=5", "Unknown group config name: no.such.key"),
    ],
)
def test_a_bad_setting_of_a_group_is_refused(server: Server, tools: Tools, change: str, refusal: str) -> None:
    assert refusal in tools.fail(server, CONFIGS, "--alter", *of_group("strict"), "--add-config", change)
    assert settings(tools.ask(server, CONFIGS, "--describe", *of_group("strict"))) == {}


# --- subscriptions to client metrics ---


def test_a_subscription_to_client_metrics_is_made_described_and_removed(server: Server, tools: Tools) -> None:
    def described() -> str:
        return tools.ask(server, CLIENT_METRICS, "--describe", "--name", "watched")

    wish = ("--metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer.", "--interval", "5000")
    match = ("--match", "client_software_name=apache-kafka-java,client_id=w.*")
    said = tools.ask(server, CLIENT_METRICS, "--alter", "--name", "watched", *wish, *match)
    assert "Altered client metrics config for watched." in said
    assert sorted(re.findall(r"^  (\S+?)=(.*)$", described(), re.MULTILINE)) == [
        ("interval.ms", "5000"),
        ("match", "client_software_name=apache-kafka-java,client_id=w.*"),
        ("metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer."),
    ]
    assert tools.ask(server, CLIENT_METRICS, "--list").split() == ["watched"]
    of_it = ("--entity-type", "client-metrics", "--entity-name", "watched")
    tools.ask(server, CONFIGS, "--alter", *of_it, "--add-config", "interval.ms=6000")
    assert "interval.ms=6000" in tools.ask(server, CONFIGS, "--describe", *of_it)
    tools.ask(server, CLIENT_METRICS, "--delete", "--name", "watched")
    assert tools.ask(server, CLIENT_METRICS, "--list").split() == []
    assert "interval.ms=" not in described()


@pytest.mark.parametrize(
    ("wish", "refusal"),
    [
        (("--interval", "5"), "Invalid value 5 for interval.ms, interval must be between 100 and 3600000 (1 hour)"),
        (("--match", "color=red"), "Illegal client matching pattern: color=red"),
    ],
)
def test_a_bad_subscription_is_refused(server: Server, tools: Tools, wish: tuple[str, ...], refusal: str) -> None:
    assert refusal in tools.fail(server, CLIENT_METRICS, "--alter", "--name", "strict", *wish)


# --- loggers ---


def level(server: Server, tools: Tools, name: str) -> str:
    told = tools.ask(server, CONFIGS, "--describe", *OF_LOGGERS)
    assert told.startswith("Dynamic configs for broker-logger 1 are:\n")
    found: dict[str, str] = dict(re.findall(r"^  (\S+?)=(\w+) sensitive=false synonyms=\{\}$", told, re.MULTILINE))
    return found[name]


def test_the_level_of_a_logger_is_changed_while_the_broker_runs(server: Server, tools: Tools) -> None:
    before = level(server, tools, "root")
    said = tools.ask(server, CONFIGS, "--alter", *OF_LOGGERS, "--add-config", "root=WARN")
    assert said == "Completed updating config for broker-logger 1.\n"
    assert level(server, tools, "root") == "WARN"
    tools.ask(server, CONFIGS, "--alter", *OF_LOGGERS, "--add-config", f"root={before}")
    assert level(server, tools, "root") == before


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (("--add-config", "no.such.logger=INFO"), "no.such.logger"),
        (("--delete-config", "root"), "Removing the log level of the root logger is not allowed"),
        (
            ("--add-config", "root=LOUD"),
            "Cannot set the log level of root to LOUD as it is not a supported log level. "
            "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        ),
    ],
)
def test_a_bad_level_is_refused(server: Server, tools: Tools, change: tuple[str, ...], refusal: str) -> None:
    before = level(server, tools, "root")
    assert refusal in tools.fail(server, CONFIGS, "--alter", *OF_LOGGERS, *change)
    assert level(server, tools, "root") == before
