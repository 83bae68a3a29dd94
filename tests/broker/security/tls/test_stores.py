"""Stores of every kind, what is wrong with them in one sentence, and what a listener is made of them."""

import ssl
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from barnabas.broker.security.tls.context import make_context
from barnabas.broker.security.tls.settings import read_settings
from barnabas.broker.security.tls.stores import open_stores
from barnabas.protocol.security.stores.identity import StoreError
from barnabas.protocol.security.stores.jks import read_jks
from barnabas.protocol.security.stores.pkcs12 import read_pkcs12
from tests.support.certificates import Authority, authority
from tests.support.source_tree import ROOT
from tests.support.tls_listener import Settings

GOLDEN = ROOT / "tests" / "golden" / "tls"
"""Made by keytool of Java 17: key.jks and key.p12 hold a key and its own certificate, trust.* that of key.jks."""
KEY_PEM, CHAIN_PEM = authority().issue().key_pem(), authority().issue().certificate_pem


def made(**settings: str) -> ssl.SSLContext:
    read = read_settings(Settings(**settings), is_sasl=False)
    return make_context(read, open_stores(read))


def refusal(**settings: str) -> str:
    with pytest.raises(StoreError) as refused:
        made(**settings)
    return str(refused.value)


@pytest.fixture
def pem(tmp_path: Path) -> dict[str, str]:
    """A key store in PEM."""
    path = authority().issue().write_pem(tmp_path / "broker.pem")
    return {"ssl_keystore_type": "PEM", "ssl_keystore_location": str(path)}


def names(context: ssl.SSLContext) -> list[object]:
    return [each["subject"] for each in context.get_ca_certs()]


# --- PEM


def test_a_pem_store_may_be_in_the_settings_on_one_line() -> None:
    issued = authority().issue()
    context = made(
        ssl_keystore_type="PEM",
        ssl_keystore_key=issued.key_pem().replace("\n", " "),
        ssl_keystore_certificate_chain=issued.certificate_pem + authority().pem,
        ssl_truststore_type="PEM",
        ssl_truststore_certificates="what is trusted\n" + authority().pem,
        ssl_client_auth="requested",
    )
    assert context.verify_mode is ssl.CERT_OPTIONAL
    assert len(context.get_ca_certs()) == 1


def test_an_encrypted_key_needs_its_password(tmp_path: Path) -> None:
    path = authority().issue().write_pem(tmp_path / "broker.pem", "the-password")
    store = {"ssl_keystore_type": "PEM", "ssl_keystore_location": str(path)}
    made(**store, ssl_key_password="the-password")
    assert "ssl.key.password is not set" in refusal(**store)
    assert (
        refusal(**store, ssl_key_password="not-it")
        == f"ssl.keystore.location: {path}: the password of the private key is wrong (ssl.key.password)"
    )


def test_a_password_for_a_key_that_is_not_encrypted_is_refused(pem: dict[str, str]) -> None:
    assert "is not encrypted" in refusal(**pem, ssl_key_password="x")


def test_a_key_that_is_not_the_certificates_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "broker.pem"
    path.write_text(authority().issue().key_pem() + authority().issue().certificate_pem)
    assert "does not belong to" in refusal(ssl_keystore_type="PEM", ssl_keystore_location=str(path))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "one private key was expected, but there are none"),
        (KEY_PEM, "it contains no certificate"),
        (KEY_PEM + KEY_PEM + CHAIN_PEM, "one private key was expected, but there are 2"),
        (KEY_PEM.replace("M", "=", 1) + CHAIN_PEM, "is not base64"),
        ("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n", "PKCS #8"),
        (KEY_PEM + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "is broken"),
    ],
)
def test_an_invalid_pem_file_is_reported(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "broker.pem"
    path.write_text(content)
    sentence = refusal(ssl_keystore_type="PEM", ssl_keystore_location=str(path))
    assert sentence.startswith(f"ssl.keystore.location: {path}")
    assert told in sentence


# --- JKS and PKCS12


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
@pytest.mark.parametrize("file", ["key.jks", "key.p12"])
def test_stores_of_java_are_read_whatever_type_they_are_said_to_be(file: str, kind: str) -> None:
    key = {"ssl_key_password": "keysecret"} if file == "key.jks" else {}
    context = made(
        ssl_keystore_type=kind, ssl_keystore_location=str(GOLDEN / file), ssl_keystore_password="secret", **key
    )
    assert context.verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize("file", ["trust.jks", "trust.p12"])
def test_trust_stores_of_java_are_read(file: str, pem: dict[str, str]) -> None:
    trust = {"ssl_truststore_location": str(GOLDEN / file), "ssl_truststore_password": "secret"}
    context = made(**pem, **trust, ssl_client_auth="required")
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert [each["subject"] for each in context.get_ca_certs()] == []  # it is no authority's, and is trusted by itself
    assert context.cert_store_stats()["x509"] == 1


def test_a_jks_trust_store_is_read_without_its_password(pem: dict[str, str]) -> None:
    context = made(**pem, ssl_truststore_location=str(GOLDEN / "trust.jks"), ssl_client_auth="required")
    assert context.cert_store_stats()["x509"] == 1


@pytest.mark.parametrize("file", ["key.jks", "key.p12"])
@pytest.mark.parametrize("key", [{}, {"ssl_key_password": "secret"}, {"ssl_key_password": "keysecret"}])
def test_a_wrong_password_is_reported(file: str, key: dict[str, str]) -> None:
    sentence = refusal(ssl_keystore_location=str(GOLDEN / file), ssl_keystore_password="guess", **key)
    assert "the password of the store is wrong" in sentence


def test_a_password_of_a_key_that_is_not_its_pkcs12_stores_is_reported() -> None:
    passwords = {"ssl_keystore_password": "secret", "ssl_key_password": "guess"}
    sentence = refusal(ssl_keystore_location=str(GOLDEN / "key.p12"), **passwords)
    assert sentence.endswith("ssl.key.password must be the store's password in a PKCS12 store")


@pytest.mark.parametrize("key", [{}, {"ssl_key_password": "guess"}])
def test_a_wrong_password_of_a_key_in_a_jks_store_is_reported(key: dict[str, str]) -> None:
    sentence = refusal(ssl_keystore_location=str(GOLDEN / "key.jks"), ssl_keystore_password="secret", **key)
    assert "the password of the key is wrong" in sentence


def test_a_store_without_a_key_is_no_key_store() -> None:
    for file in ("trust.jks", "trust.p12"):
        sentence = refusal(ssl_keystore_location=str(GOLDEN / file), ssl_keystore_password="secret")
        assert sentence.endswith("it contains no private key")


@pytest.mark.parametrize("size", [0, 3, 4, 30, 200, 400])
def test_a_store_that_ends_early_is_refused(tmp_path: Path, size: int) -> None:
    for file in ("key.jks", "key.p12"):
        data = (GOLDEN / file).read_bytes()[:size]
        read = read_jks if file == "key.jks" and size >= 4 else read_pkcs12
        with pytest.raises(StoreError):
            read(data, "secret", None, "it")


def test_every_changed_byte_of_a_jks_store_is_noticed() -> None:
    data = (GOLDEN / "key.jks").read_bytes()
    for position in range(4, len(data), 7):
        changed = data[:position] + bytes((data[position] ^ 1,)) + data[position + 1 :]
        with pytest.raises(StoreError):
            read_jks(changed, "secret", "keysecret", "it")
        try:
            read_jks(changed, None, None, "it")
        except StoreError:
            continue  # the only error that is allowed


def test_a_chain_is_sent_and_not_trusted(tmp_path: Path) -> None:
    path = authority().issue().write_pkcs12(tmp_path / "broker.p12", "secret")
    store = read_pkcs12(path.read_bytes(), "secret", None, "it")
    assert store.identity is not None
    assert len(store.identity.chain) == 2
    assert store.trusted == store.identity.chain[:1]


def test_without_the_extra_a_pkcs12_store_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    sentence = refusal(ssl_keystore_location=str(GOLDEN / "key.p12"), ssl_keystore_password="secret")
    assert sentence.endswith("needs the package cryptography: pip install 'barnabas[secure]'")


# --- what excludes each other, in Kafka's words


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "there is no key store: set ssl.keystore.location"),
        ({"ssl_keystore_password": "x"}, "SSL key store is not specified, but key store password is specified."),
        ({"ssl_keystore_location": "x"}, "SSL key store is specified, but key store password is not specified."),
        ({"ssl_keystore_key": "x"}, "SSL private key can be specified only for PEM, but key store type is JKS."),
        (
            {"ssl_keystore_type": "PEM", "ssl_keystore_key": "x"},
            "SSL private key is specified, but certificate chain is not specified.",
        ),
        (
            {"ssl_keystore_certificate_chain": "x"},
            "SSL certificate chain is specified, but private key is not specified",
        ),
        (
            {"ssl_keystore_type": "PEM", "ssl_keystore_location": "x", "ssl_keystore_password": "x"},
            "SSL key store password cannot be specified with PEM format, only key password may be specified.",
        ),
        ({"ssl_keystore_type": "BKS"}, "ssl.keystore.type: BKS is unknown: use one of PEM, JKS, PKCS12"),
        ({"ssl_provider": "BC"}, "ssl.provider: classes and providers of Java cannot be loaded: remove it"),
        (
            {"ssl_enabled_protocols": "TLSv1.1"},
            "ssl.enabled.protocols: TLSv1.1 is not supported: TLSv1.2 and TLSv1.3 are",
        ),
        ({"ssl_cipher_suites": "TLS_FOO"}, "ssl.cipher.suites: TLS_FOO is unknown"),
        ({"ssl_principal_mapping_rules": "default"}, "ssl.principal.mapping.rules: Invalid rule: "),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, str], told: str) -> None:
    assert refusal(**settings).startswith(told)


@pytest.mark.parametrize(("given", "rules"), [({}, "DEFAULT"), ({"ssl_principal_mapping_rules": ""}, "")])
def test_an_empty_list_of_rules_is_not_the_default(pem: dict[str, str], given: dict[str, str], rules: str) -> None:
    assert read_settings(Settings(**pem, **given), is_sasl=False).mapping_rules == rules


def test_versions_of_tls_that_nobody_speaks_any_longer_are_left_out_beside_others(pem: dict[str, str]) -> None:
    settings = Settings(**pem, ssl_enabled_protocols="TLSv1.2,TLSv1.1,TLSv1")
    assert read_settings(settings, is_sasl=False).protocols == ("TLSv1.2",)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"ssl_truststore_password": "x"}, "SSL trust store is not specified, but trust store password is specified."),
        (
            {"ssl_truststore_certificates": "x"},
            "SSL trust store certs can be specified only for PEM, but trust store type is JKS.",
        ),
        (
            {"ssl_truststore_type": "PEM", "ssl_truststore_certificates": "x", "ssl_truststore_location": "y"},
            "Both SSL trust store location and separate trust certificates are specified.",
        ),
        (
            {"ssl_truststore_type": "PEM", "ssl_truststore_location": "x", "ssl_truststore_password": "y"},
            "SSL trust store password cannot be specified for PEM format.",
        ),
    ],
)
def test_trust_stores_that_cannot_be_are_refused(pem: dict[str, str], settings: dict[str, str], told: str) -> None:
    assert refusal(**pem, **settings) == told


def test_a_file_that_is_not_there_is_named(tmp_path: Path, pem: dict[str, str]) -> None:
    path, password = str(tmp_path / "nowhere.jks"), {"ssl_keystore_password": "x"}
    not_there = f"location: {path}: No such file or directory"
    assert refusal(ssl_keystore_location=path, **password) == f"ssl.keystore.{not_there}"
    directory = f"ssl.keystore.location: {tmp_path}: Is a directory"
    assert refusal(ssl_keystore_location=str(tmp_path), **password) == directory
    assert refusal(**pem, ssl_client_auth="required", ssl_truststore_location=path) == f"ssl.truststore.{not_there}"


def test_a_pem_file_without_its_type_is_reported_with_the_setting(pem: dict[str, str]) -> None:
    path = pem["ssl_keystore_location"]
    said = f"location: {path}: it is a PEM file: set ssl."
    assert refusal(ssl_keystore_location=path, ssl_keystore_password="x") == f"ssl.keystore.{said}keystore.type=PEM"
    assert refusal(**pem, ssl_truststore_location=path) == f"ssl.truststore.{said}truststore.type=PEM"


# --- the context


def test_nothing_before_tls_1_2_is_spoken(pem: dict[str, str]) -> None:
    context = made(**pem)
    assert (context.minimum_version, context.maximum_version) == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    assert context.options & ssl.OP_NO_COMPRESSION
    assert context.options & ssl.OP_NO_RENEGOTIATION


def _suites(context: ssl.SSLContext) -> Iterable[str]:
    return [each["name"] for each in context.get_ciphers() if each["protocol"] == "TLSv1.2"]


def test_only_the_suites_that_are_named_are_offered(pem: dict[str, str]) -> None:
    older = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
    context = made(**pem, ssl_cipher_suites=older)
    assert _suites(context) == ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"]
    assert context.maximum_version == ssl.TLSVersion.TLSv1_2
    newer = "TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256,TLS_AES_128_GCM_SHA256"
    assert made(**pem, ssl_cipher_suites=newer).minimum_version == ssl.TLSVersion.TLSv1_3
    assert "it has no suite of an enabled protocol" in refusal(**pem, ssl_cipher_suites="TLS_AES_256_GCM_SHA384")
    assert "OpenSSL has none of" in refusal(**pem, ssl_cipher_suites="TLS_RSA_WITH_ARIA_256_CCM_8")


def test_on_a_sasl_listener_client_certificates_are_requested_by_its_own_setting_only(pem: dict[str, str]) -> None:
    assert read_settings(Settings(**pem, ssl_client_auth="required"), is_sasl=True).client_auth == "none"


def test_no_ticket_stands_in_for_a_certificate(pem: dict[str, str]) -> None:
    trust = {"ssl_truststore_type": "PEM", "ssl_truststore_certificates": authority().pem}
    context = made(**pem, **trust, ssl_client_auth="required")
    assert context.num_tickets == 0
    assert context.options & ssl.OP_NO_TICKET
    assert made(**pem).num_tickets == 1


def test_nothing_that_is_printed_has_a_secret_in_it(tmp_path: Path) -> None:
    path = authority().issue().write_pem(tmp_path / "broker.pem", "the-password")
    settings = read_settings(
        Settings(ssl_keystore_type="PEM", ssl_keystore_location=str(path), ssl_key_password="the-password"),
        is_sasl=False,
    )
    assert "the-password" not in repr(settings)
    assert "PRIVATE" not in repr(open_stores(settings))


def test_an_authority_issues_the_requested_certificate() -> None:
    assert Authority("other").pem != authority().pem
