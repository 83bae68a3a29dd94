"""Certificates for tests: an authority, and what it issues, as files in a directory."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import cache
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOCAL = ("localhost", "127.0.0.1", "::1")
_BEGINNING, _AGO, _END = (datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (2020, 2021, 2120))
_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)
"""Python looks for it, and for the keys' identifiers, since 3.13."""


class Issued:
    """A certificate and its key, and the authority that issued it."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate, authority: Authority) -> None:
        self.key = key
        self.certificate = certificate
        self.authority = authority

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        """In PKCS #8."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(password)).decode()

    def write_pem(self, path: Path, password: str | None = None) -> Path:
        """Key and certificate in one file."""
        path.write_text(self.key_pem(password) + self.certificate_pem)
        return path

    def write_pkcs12(self, path: Path, password: str) -> Path:
        authority = [self.authority.certificate]
        data = pkcs12.serialize_key_and_certificates(
            b"broker", self.key, self.certificate, authority, _encryption(password)
        )
        path.write_bytes(data)
        return path


class Authority:
    """Issues certificates. Keys are short and on curves, so that tests are quick."""

    def __init__(self, name: str = "Authority of tests", *, is_strict: bool = True) -> None:
        """is_strict: whether what it makes has all that RFC 5280 asks for; authorities of companies often have less."""
        self.is_strict = is_strict
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        building = _builder(self.name, self.name, self.key.public_key(), _END)
        building = building.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        if is_strict:
            building = building.add_extension(_SIGNS_CERTIFICATES, critical=True)
            identifier = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
            building = building.add_extension(identifier, critical=False)
        self.certificate = building.sign(self.key, hashes.SHA256())

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def write(self, path: Path) -> Path:
        """Its certificate, for clients and servers that trust it."""
        path.write_text(self.pem)
        return path

    def write_pkcs12(self, path: Path, password: str) -> Path:
        """The same as a trust store that keytool makes."""
        trusted = [pkcs12.PKCS12Certificate(self.certificate, b"authority")]
        path.write_bytes(pkcs12.serialize_java_truststore(trusted, _encryption(password)))
        return path

    def issue(
        self,
        name: str | x509.Name = "broker",
        hosts: Sequence[str] = LOCAL,
        *,
        is_expired: bool = False,
        has_critical_hosts: bool | None = None,
    ) -> Issued:
        """A certificate for a server and a client. `name`: its common name, or the whole subject.

        has_critical_hosts: by default, where only they name the subject, because `subject` is empty.
        """
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) if isinstance(name, str) else name
        key = ec.generate_private_key(ec.SECP256R1())
        building = _builder(subject, self.name, key.public_key(), _AGO if is_expired else _END)
        names = x509.SubjectAlternativeName([_named(host) for host in hosts])
        is_critical = not subject.rdns if has_critical_hosts is None else has_critical_hosts
        building = building.add_extension(names, critical=is_critical)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        building = building.add_extension(usage, critical=False)
        if self.is_strict:
            issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
            building = building.add_extension(issuer, critical=False)
        return Issued(key, building.sign(self.key, hashes.SHA256()), self)


@cache
def authority() -> Authority:
    """The authority that most tests trust."""
    return Authority()


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, end: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_BEGINNING)
        .not_valid_after(end)
    )


def _named(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _encryption(password: str | None) -> KeySerializationEncryption:
    return NoEncryption() if password is None else BestAvailableEncryption(password.encode())
