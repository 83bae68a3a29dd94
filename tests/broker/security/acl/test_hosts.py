"""Where an entry holds: hosts, networks, and IPv6 addresses in whichever spelling."""

import pytest

from barnabas.broker.security.acl.hosts import check_network, is_within


@pytest.mark.parametrize(
    ("host", "pattern"),
    [
        ("10.0.0.7", "*"),
        ("10.0.0.7", "10.0.0.7"),
        ("10.0.0.7", "10.0.0.0/8"),
        ("10.0.0.7", "10.9.9.9/8"),
        ("10.0.0.7", "10.0.0.7/32"),
        ("10.0.0.7", "0.0.0.0/0"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("2001:db8::7", "2001:db8::/32"),
    ],
)
def test_a_host_is_meant(host: str, pattern: str) -> None:
    assert is_within(host, pattern)


@pytest.mark.parametrize(
    ("host", "pattern"),
    [
        ("10.0.0.7", "10.0.0.8"),
        ("10.0.0.7", "11.0.0.0/8"),
        ("10.0.0.7", "::/0"),
        ("::1", "0.0.0.0/0"),
        ("::1", "::2"),
        ("10.0.0.7", "no.such/8"),
        ("10.0.0.7", "10.0.0.0/33"),
        ("a name", "10.0.0.0/8"),
        ("10.0.0.7", ""),
    ],
)
def test_a_host_is_not_meant(host: str, pattern: str) -> None:
    assert not is_within(host, pattern)


@pytest.mark.parametrize(
    "pattern", ["10.0.0.0/", "/8", "10.0.0/8", "10.0.0.0/-1", "10.0.0.0/255.0.0.0", "::/129", "host/8", "1.1.1.1/²"]
)
def test_a_missing_network_is_reported(pattern: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        check_network(pattern)
