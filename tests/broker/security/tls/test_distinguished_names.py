"""Names in certificates are written as Java's X500Principal.getName() writes them. The answers here are Java 17's."""

from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import Name, NameAttribute, RelativeDistinguishedName
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID as Oid
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.security.tls.distinguished_names import subject_of
from tests.support.certificates import authority

A = NameAttribute
OF_JAVA = [
    (
        Name(
            [
                A(Oid.COUNTRY_NAME, "DE"),
                A(Oid.STATE_OR_PROVINCE_NAME, "Berlin"),
                A(Oid.LOCALITY_NAME, "Mitte"),
                A(Oid.ORGANIZATION_NAME, "Org, Inc."),
                A(Oid.ORGANIZATIONAL_UNIT_NAME, "U+V"),
                A(Oid.COMMON_NAME, "duke"),
            ]
        ),
        r"CN=duke,OU=U\+V,O=Org\, Inc.,L=Mitte,ST=Berlin,C=DE",
    ),
    (
        Name(
            [
                A(Oid.COMMON_NAME, 'a=b;c<d>#"e"\\'),
                A(Oid.EMAIL_ADDRESS, "a@b.c"),
                A(Oid.SERIAL_NUMBER, "12"),
                A(Oid.DOMAIN_COMPONENT, "example"),
                A(Oid.USER_ID, "u1"),
                A(Oid.STREET_ADDRESS, "s 1"),
                A(Oid.TITLE, "Dr"),
            ]
        ),
        r"2.5.4.12=#0c024472,STREET=s 1,UID=u1,DC=example,2.5.4.5=#13023132,1.2.840.113549.1.9.1=#16056140622e63,"
        r"CN=a\=b\;c\<d\>\#\"e\"\\",
    ),
    (
        Name([A(Oid.COMMON_NAME, "  two  blanks  "), A(Oid.ORGANIZATION_NAME, "#hash")]),
        r"O=\#hash,CN=\ \ two  blanks\ \ ",
    ),
    (Name([A(Oid.COMMON_NAME, "Jürgen Ж 😀"), A(Oid.ORGANIZATION_NAME, "tab\there")]), "O=tab\there,CN=Jürgen Ж 😀"),
    (Name([A(Oid.COMMON_NAME, "admin\0.evil.com")]), r"CN=admin\00.evil.com"),
    (
        Name(
            [
                RelativeDistinguishedName(
                    [A(Oid.COMMON_NAME, "a"), A(Oid.ORGANIZATIONAL_UNIT_NAME, "b"), A(Oid.USER_ID, "c")]
                ),
                RelativeDistinguishedName([A(Oid.ORGANIZATION_NAME, "o")]),
            ]
        ),
        "O=o,CN=a+OU=b+UID=c",
    ),
    (
        Name(
            [
                A(Oid.COMMON_NAME, "bmpü", _ASN1Type.BMPString),
                A(Oid.ORGANIZATION_NAME, "t61", _ASN1Type.T61String),
                A(Oid.ORGANIZATIONAL_UNIT_NAME, "print", _ASN1Type.PrintableString),
                A(Oid.LOCALITY_NAME, "ia5", _ASN1Type.IA5String),
                A(Oid.STATE_OR_PROVINCE_NAME, "vis", _ASN1Type.VisibleString),
            ]
        ),
        "ST=#1a03766973,L=ia5,OU=print,O=t61,CN=\\00b\\00m\\00p\\00\ufffd",
    ),
    (Name([A(Oid.COMMON_NAME, " \r a\nb\r")]), "CN=\\ \\\r\\ a\nb\\\r"),
    (Name([]), ""),
]


@pytest.mark.parametrize(("subject", "written"), OF_JAVA, ids=range(len(OF_JAVA)))
def test_a_subject_is_written_as_java_writes_it(subject: Name, written: str) -> None:
    assert subject_of(authority().issue(subject).certificate.public_bytes(Encoding.DER)) == written


@given(st.data())
def test_bytes_that_are_no_certificate_are_refused_and_nothing_else(data: st.DataObject) -> None:
    certificate = bytearray(authority().certificate.public_bytes(Encoding.DER))
    for _ in range(data.draw(st.integers(1, 8))):
        certificate[data.draw(st.integers(0, 120))] = data.draw(st.integers(0, 255))
    size = data.draw(st.integers(0, len(certificate)))
    with suppress(ValueError):  # the only error that is allowed
        subject_of(bytes(certificate[:size]))


def test_an_empty_subject_needs_critical_alternative_names() -> None:
    certificate = authority().issue(Name([]), has_critical_hosts=False).certificate
    with pytest.raises(ValueError, match="no alternative names that are critical"):
        subject_of(certificate.public_bytes(Encoding.DER))


def test_an_empty_sequence_is_no_certificate() -> None:
    with pytest.raises(ValueError, match="no subject"):
        subject_of(b"\x30\x00")
