"""Listeners as text and as values; and no text whatever makes a configuration fail otherwise than by a refusal."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.config import ConfigError, Listener, load_config
from barnabas.broker.config.definitions.ignored_keys import ACCEPTED
from barnabas.broker.config.definitions.keys import KEYS
from barnabas.broker.config.environment import EnvironmentSettings, read_environment
from barnabas.broker.config.listeners.listeners import check_ports, parse_listeners, parse_protocol_map
from barnabas.protocol.security.listener_protocols import PLAINTEXT

PROTOCOLS = {"A": PLAINTEXT, "TC-0": PLAINTEXT}
HOST = st.sampled_from(["", "localhost", "kafka_1", "10.0.0.1", "::1", "fe80::1%eth0", "a.b-c.example"])
TEXT = st.text(st.characters(codec="utf-8"), max_size=30) | st.from_regex(r"([A-C]://)?[a-z.:\[\]]*:?[0-9]{0,6}(,.*)?")


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(PROTOCOLS)), HOST, st.integers(0, 65535))
def test_a_listener_is_read_back_from_its_address(name: str, host: str, port: int) -> None:
    listener = Listener(name, host, port, PLAINTEXT)
    assert parse_listeners("listeners", [f"{name.lower()}://{listener.address}"], PROTOCOLS) == [listener]


@pytest.mark.parametrize(
    ("hosts", "may_share"),
    [
        (("127.0.0.1", "::1"), True),
        (("0.0.0.0", "::"), True),
        (("127.0.0.1", "127.0.0.2"), False),
        (("::1", "::2"), False),
        (("", "::1"), False),
        (("localhost", "127.0.0.1"), False),
        (("127.0.0.1", "::1", "::2"), False),
    ],
)
def test_two_listeners_share_a_port_only_on_the_two_versions_of_ip(hosts: tuple[str, ...], may_share: bool) -> None:
    listeners = [Listener(f"L{number}", host, 9092, PLAINTEXT) for number, host in enumerate(hosts)]
    if may_share:
        check_ports("listeners", listeners)
    else:
        with pytest.raises(ValueError, match="have the same port, 9092: give each listener its own port"):
            check_ports("listeners", listeners)
    check_ports("listeners", [each._replace(port=0) for each in listeners])


def test_a_map_of_protocols_is_read_in_any_case() -> None:
    assert parse_protocol_map(" a:plaintext, B : SSL ,") == {"A": "PLAINTEXT", "B": "SSL"}


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(KEYS | ACCEPTED)), TEXT)
def test_any_value_of_any_key_is_used_or_refused(key: str, text: str) -> None:
    try:
        config, _ = load_config(environment=EnvironmentSettings({key: text}, {}))
    except ConfigError:
        return  # nothing else may come out
    config.value(key)
    assert all(each.port >= 0 for each in (*config.listeners, *config.advertised_listeners))


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.from_regex(r"KAFKA_[A-Z_]{1,12}", fullmatch=True), TEXT, max_size=4), st.binary(max_size=80))
def test_any_environment_and_any_file_is_used_or_refused(variables: dict[str, str], properties: bytes) -> None:
    try:
        config, _ = load_config(environment=read_environment(variables), properties=properties)
    except ConfigError:
        return  # nothing else may come out
    assert config.listeners
