"""The server.properties for Apache Kafka: what one node needs, what was set here, and nothing that is only ours."""

import pytest

from barnabas.broker.cli.handover.properties import NodeDirectories, server_properties
from barnabas.broker.config import load_config
from barnabas.protocol.files import properties as java_properties

HERE = NodeDirectories(7, ["/a", "/b"], "/a", has_voters=True)


def printed(*settings: str, place: NodeDirectories = HERE, controller_port: int = 9093) -> dict[str, str]:
    config = load_config(settings=settings).config
    return java_properties.decode(server_properties(config, place, controller_port).encode())


def test_it_is_a_node_that_needs_no_other() -> None:
    found = printed()
    assert found["process.roles"] == "broker,controller"
    assert (found["node.id"], found["log.dirs"]) == ("7", "/a,/b")
    assert found["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://localhost:9093"
    assert found["controller.listener.names"] == "CONTROLLER"
    assert found["controller.quorum.bootstrap.servers"] == "localhost:9093"
    assert "metadata.log.dir" not in found
    factors = [value for name, value in found.items() if name.endswith((".replication.factor", ".min.isr"))]
    assert factors == ["1"] * 5


def test_without_voters_in_the_log_kafka_is_told_them() -> None:
    found = printed(place=HERE._replace(has_voters=False))
    assert found["controller.quorum.voters"] == "7@localhost:9093"
    assert "controller.quorum.bootstrap.servers" not in found


def test_a_catalogue_of_its_own_is_named() -> None:
    assert printed(place=HERE._replace(metadata_dir="/c"))["metadata.log.dir"] == "/c"


def test_kafka_reads_other_characters_as_they_were_set() -> None:
    found = printed("broker.rack=gr\u00fc\U0001f600\\u ", place=HERE._replace(directories=["/b\u00fccher"]))
    assert (found["broker.rack"], found["log.dirs"]) == ("gr\u00fc\U0001f600\\u ", "/b\u00fccher")


def test_listeners_and_what_they_advertise_are_kept() -> None:
    found = printed(
        "listeners=IN://[::1]:19092,OUT://:9094",
        "advertised.listeners=IN://here:1,OUT://there:2",
        "listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT",
    )
    assert found["listeners"] == "IN://[::1]:19092,OUT://:9094,CONTROLLER://localhost:9093"
    assert found["advertised.listeners"] == "IN://here:1,OUT://there:2"
    assert found["listener.security.protocol.map"] == "IN:PLAINTEXT,OUT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    assert found["inter.broker.listener.name"] == "IN"


def test_every_interface_is_a_listener_without_a_host() -> None:
    """Kafka does not start with 0.0.0.0 if nothing is advertised instead."""
    for host in ("0.0.0.0", "[::]", ""):
        assert printed(f"listeners=PLAINTEXT://{host}:9092")["listeners"].startswith("PLAINTEXT://:9092,")


def test_brokers_would_meet_at_a_listener_that_is_advertised() -> None:
    found = printed(
        "listeners=IN://:1,OUT://:2",
        "advertised.listeners=OUT://there:2",
        "listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT",
    )
    assert found["inter.broker.listener.name"] == "OUT"


def test_existing_settings_stay_and_own_defaults_do_not() -> None:
    found = printed(
        "log.retention.hours=5",
        "barnabas.client.telemetry.enable=true",
        "offsets.topic.replication.factor=3",
        "broker.id=7",
        "node.id=7",
        r"broker.rack=a\b",
    )
    assert found["log.retention.hours"] == "5"
    assert not any(name.startswith("barnabas.") for name in found)
    assert found["offsets.topic.replication.factor"] == "1"
    assert "broker.id" not in found
    assert found["broker.rack"] == r"a\b"


@pytest.mark.parametrize("enabled", [True, False])
def test_two_phase_commits_need_a_second_key_in_kafka(enabled: bool) -> None:
    found = printed(f"transaction.two.phase.commit.enable={str(enabled).lower()}")
    assert ("unstable.api.versions.enable" in found) == enabled


def test_printed_commands_are_accepted_and_printed_again() -> None:
    given = ["transaction.two.phase.commit.enable=true", "unstable.api.versions.enable=true"]
    assert printed(*given)["unstable.api.versions.enable"] == "true"
    _, warnings = load_config(settings=given)
    assert warnings == ["no effect here: unstable.api.versions.enable. All supported versions are offered."]


def test_a_default_that_programs_notice_is_written_down() -> None:
    assert printed()["group.initial.rebalance.delay.ms"] == "0"
    assert printed("group.initial.rebalance.delay.ms=9")["group.initial.rebalance.delay.ms"] == "9"


def test_the_controller_does_not_get_the_port_of_a_listener() -> None:
    with pytest.raises(ValueError, match="port 9093 is used by a listener"):
        printed("listeners=PLAINTEXT://:9093")
