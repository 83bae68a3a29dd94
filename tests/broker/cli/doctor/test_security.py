"""What doctor text of listeners that are secured: stores, certificates, users, super users; and never a secret."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from barnabas.broker.cli.doctor.finding import CheckResult, Level
from barnabas.broker.cli.doctor.security import examine
from barnabas.broker.config import BrokerConfig
from barnabas.broker.metadata.image.image import Image
from barnabas.broker.security.tls.certificates import validity_of
from barnabas.protocol.log_records.catalogue import UserScramCredentialRecord
from tests.support.certificates import authority

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000
JAAS = "listener.name.sasl_ssl.plain.sasl.jaas.config"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def found(
    settings: dict[str, str], now_ms: int = NOW_MS, catalogue: Image | None = None, *, adds_users: bool = False
) -> list[CheckResult]:
    return examine(BrokerConfig(settings), catalogue, now_ms, adds_users=adds_users)


def worst(findings: list[CheckResult], check: str = "") -> CheckResult:
    order = list(Level)
    return max((each for each in findings if each.check.startswith(check)), key=lambda each: order.index(each.level))


@pytest.fixture
def ssl(tmp_path: Path) -> dict[str, str]:
    """A listener whose certificate is for this machine, until 2120."""
    path = authority().issue().write_pem(tmp_path / "broker.pem")
    path.chmod(0o600)
    return {"listeners": "SSL://localhost:0", "ssl.keystore.type": "PEM", "ssl.keystore.location": str(path)}


@pytest.fixture
def sasl(ssl: dict[str, str]) -> dict[str, str]:
    return {**ssl, "listeners": "SASL_SSL://localhost:0", "sasl.enabled.mechanisms": "PLAIN"}


def test_a_certificate_that_is_well_is_reported_with_its_hosts_and_its_end(ssl: dict[str, str]) -> None:
    (finding,) = found(ssl)
    assert (finding.check, finding.level) == ("TLS of SSL", Level.OK)
    assert finding.text == "its certificate is for 127.0.0.1, ::1, localhost, until 2120-01-01 00:00 UTC"


def test_a_store_that_is_not_there_or_cannot_be_opened(ssl: dict[str, str], tmp_path: Path) -> None:
    (missing,) = found({**ssl, "ssl.keystore.location": str(tmp_path / "no.pem")})
    assert (missing.level, "no.pem: No such file" in missing.text) == (Level.PROBLEM, True)
    (none,) = found({"listeners": "SSL://localhost:0"})
    assert (none.level, none.text) == (Level.PROBLEM, "there is no key store: set ssl.keystore.location")
    store = authority().issue().write_pkcs12(tmp_path / "broker.p12", "right")
    of_p12 = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": str(store)}
    (wrong,) = found({**ssl, **of_p12, "ssl.keystore.password": "hunter2"})
    assert (wrong.level, "broker.p12" in wrong.text, "password" in wrong.text) == (Level.PROBLEM, True, True)
    assert "hunter2" not in str(wrong)


def test_a_certificate_that_expired_or_soon_will_or_is_not_valid_yet(ssl: dict[str, str], tmp_path: Path) -> None:
    path = authority().issue(is_expired=True).write_pem(tmp_path / "old.pem")
    expired = worst(found({**ssl, "ssl.keystore.location": str(path)}))
    assert (expired.level, expired.text) == (Level.PROBLEM, "its certificate expired on 2021-01-01 00:00 UTC")
    ends = validity_of(authority().issue().certificate.public_bytes(Encoding.DER)).ends
    ends_ms = int(ends.timestamp() * 1000)
    assert [worst(found(ssl, ends_ms - days * DAY_MS)).level for days in (31, 30, 1, 0)] == [
        Level.OK,
        Level.WARNING,
        Level.WARNING,
        Level.PROBLEM,
    ]
    early = worst(found(ssl, 1_500_000_000_000))
    assert (early.level, "is not valid before 2020-01-01" in early.text) == (Level.PROBLEM, True)


def test_a_host_that_is_not_in_the_certificate(ssl: dict[str, str]) -> None:
    advertised = found({**ssl, "advertised.listeners": "SSL://broker.example:9092"})
    assert worst(advertised).level is Level.PROBLEM
    assert "clients connect to broker.example, but the certificate is for 127.0.0.1" in worst(advertised).text
    assert worst(found({**ssl, "listeners": "SSL://127.0.0.1:0"})).level is Level.OK
    assert worst(found({**ssl, "listeners": "SSL://:0"})).level is Level.OK  # nobody knows by which name they come


def test_a_key_that_everybody_may_read(ssl: dict[str, str]) -> None:
    Path(ssl["ssl.keystore.location"]).chmod(0o644)
    finding = worst(found(ssl))
    assert (finding.level, finding.advice) == (Level.WARNING, f"chmod 600 {ssl['ssl.keystore.location']}")


def test_sasl_without_users(sasl: dict[str, str]) -> None:
    none = worst(found(sasl), "SASL")
    assert (none.level, "offers PLAIN but has no users" in none.text) == (Level.PROBLEM, True)
    empty = found({**sasl, JAAS: f"{LOGIN};"})
    assert worst(empty, "SASL").text == "no client can log in: none of its mechanisms has users"
    some = worst(found({**sasl, JAAS: f'{LOGIN} user_alice="hunter2";'}), "SASL")
    assert (some.level, some.text) == (Level.OK, "PLAIN can be used to log in")
    in_the_clear = {**sasl, "listeners": "SASL_PLAINTEXT://localhost:0"}
    told = found({**in_the_clear, JAAS.replace("_ssl", "_plaintext"): f'{LOGIN} user_alice="hunter2";'})
    assert worst(told).text == "PLAIN sends passwords unencrypted, and this listener does not use TLS"
    assert "hunter2" not in str(told)


def test_scram_without_users_in_the_data_directory(sasl: dict[str, str]) -> None:
    settings = {**sasl, "sasl.enabled.mechanisms": "SCRAM-SHA-512"}
    assert worst(found(settings), "SASL").level is Level.PROBLEM
    assert worst(found(settings, adds_users=True), "SASL").level is Level.OK
    catalogue = Image(1)
    record = UserScramCredentialRecord(
        name="alice", mechanism=2, salt=b"s", stored_key=b"k", server_key=b"k", iterations=4096
    )
    catalogue.scram["alice", 2] = record
    assert worst(found(settings, catalogue=catalogue), "SASL").level is Level.OK
    settings["sasl.enabled.mechanisms"] = "SCRAM-SHA-512,SCRAM-SHA-256"
    half = worst(found(settings, catalogue=catalogue), "SASL")
    assert (half.level, half.text) == (Level.WARNING, "SCRAM-SHA-256 has no users in the data directory")
    assert "--add-scram 'SCRAM-SHA-256=[" in str(half.advice)
    settings["sasl.enabled.mechanisms"] = "SCRAM-SHA-512"
    advice = [each.advice for each in found(settings) if each.level is Level.WARNING]
    assert advice == [
        "barnabas serve --add-scram 'SCRAM-SHA-512=[name=NAME,password=PASSWORD]' gives a user a password"
    ]


@pytest.mark.parametrize(
    ("settings", "level"),
    [
        ({}, Level.WARNING),
        ({"allow.everyone.if.no.acl.found": "true"}, Level.NOTE),
        ({"super.users": "User:admin"}, Level.OK),
    ],
)
def test_an_authorizer_without_super_users(settings: dict[str, str], level: Level) -> None:
    (finding,) = found({"listeners": "PLAINTEXT://:0", "authorizer.class.name": STANDARD, **settings})
    assert (finding.check, finding.level) == ("authorizer", level)


def test_nothing_is_reported_where_nothing_is_secured() -> None:
    assert found({"listeners": "PLAINTEXT://:0"}) == []
