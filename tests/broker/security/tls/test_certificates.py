"""What a certificate says of itself, beside what the library that made it says."""

from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from barnabas.broker.security.tls.certificates import hosts_of, is_for, validity_of
from tests.support.certificates import authority


def test_validity_and_hosts_are_the_librarys() -> None:
    certificate = authority().issue(hosts=["Broker.example", "10.0.0.7", "::1", "*.other.example"]).certificate
    der = certificate.public_bytes(Encoding.DER)
    assert validity_of(der) == (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    assert validity_of(der).ends.year >= 2050  # which is written in another form than before 2050
    assert hosts_of(der) == ["*.other.example", "10.0.0.7", "::1", "broker.example"]
    expired = authority().issue(is_expired=True).certificate.public_bytes(Encoding.DER)
    assert validity_of(expired).ends == datetime(2021, 1, 1, tzinfo=UTC)


def test_an_authority_is_for_no_host() -> None:
    assert hosts_of(authority().certificate.public_bytes(Encoding.DER)) == []


@pytest.mark.parametrize("data", [b"", b"\x30\x00", b"\x30\x02\x30\x00", b"\x02\x01\x00", b"\x30\x7f"])
def test_an_invalid_certificate_has_no_validity(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"certificate|DER"):
        validity_of(data)


@pytest.mark.parametrize(
    ("host", "is_named"),
    [
        ("broker.example", True),
        ("BROKER.example.", True),
        ("a.other.example", True),
        ("a.b.other.example", False),
        ("other.example", False),
        ("localhost", False),
        ("10.0.0.7", True),
        ("10.0.0.70", False),
        ("0:0:0:0:0:0:0:1", True),
    ],
)
def test_a_host_is_found_as_clients_find_it(host: str, is_named: bool) -> None:
    assert is_for(host, ["broker.example", "*.other.example", "10.0.0.7", "::1"]) is is_named
