"""The certificate authority of a secured broker, and the certificate it issues. Pure except for random keys.

Times are parameters. Keys are on the curve P-256, which all current clients support, and are quick to generate.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_AUTHORITY_DAYS, _BROKER_DAYS, _RENEWED_DAYS_BEFORE = 3650, 365, 30
_BEFORE = timedelta(days=1)
"""Clocks differ: certificates are valid from one day before they are issued."""


class Authority(NamedTuple):
    """A private key, and the certificate that clients trust."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> str:
        """The key and the certificate, as stored."""
        return _key_pem(self.key) + self.certificate_pem

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()


def new_authority(now_ms: int) -> Authority:
    """Create an authority that is valid for ten years."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(f"Barnabas, since {_time(now_ms):%Y-%m-%d}")
    building = _builder(name, name, key, now_ms, _AUTHORITY_DAYS)
    building = building.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    building = building.add_extension(_key_usage(signs_certificates=True), critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return Authority(key, building.add_extension(identifier, critical=False).sign(key, hashes.SHA256()))


def authority_of(pem: str) -> Authority:
    """Return the authority that was stored. Raise ValueError if it is invalid."""
    certificate = x509.load_pem_x509_certificate(pem.encode())
    key = load_pem_private_key(pem.encode(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise ValueError("the key is not the certificate's")
    return Authority(key, certificate)


def issue(authority: Authority, hosts: Collection[str], now_ms: int) -> str:
    """Issue a certificate for these hosts; return it with its key, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    building = _builder(_name("barnabas"), authority.certificate.subject, key, now_ms, _BROKER_DAYS)
    building = building.add_extension(x509.SubjectAlternativeName([_host(each) for each in hosts]), critical=False)
    building = building.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    building = building.add_extension(_key_usage(signs_certificates=False), critical=True)
    building = building.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    certificate = building.add_extension(issuer, critical=False).sign(authority.key, hashes.SHA256())
    return _key_pem(key) + certificate.public_bytes(Encoding.PEM).decode()


def is_good(pem: str, authority: Authority, hosts: Collection[str], now_ms: int) -> bool:
    """Return whether a certificate is issued by the authority, for exactly these hosts, and valid for a while."""
    with suppress(ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):  # then it is not good
        certificate = x509.load_pem_x509_certificate(pem.encode())
        key = load_pem_private_key(pem.encode(), None)
        certificate.verify_directly_issued_by(authority.certificate)
        named = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        until = certificate.not_valid_after_utc - timedelta(days=_RENEWED_DAYS_BEFORE)
        is_valid = certificate.not_valid_before_utc <= _time(now_ms) < until
        is_its_key = key.public_key() == certificate.public_key()
        return is_valid and is_its_key and set(named) == {_host(each) for each in hosts}
    return False


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now_ms: int, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_time(now_ms) - _BEFORE)
        .not_valid_after(_time(now_ms) + timedelta(days=days))
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _time(now_ms: int) -> datetime:
    return datetime.fromtimestamp(now_ms // 1000, UTC)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
