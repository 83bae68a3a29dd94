"""The certificates that pages of the probe book present, by name: their subjects and issuers."""

import ssl
from tempfile import NamedTemporaryFile

from cryptography.x509 import Name, NameAttribute, RelativeDistinguishedName
from cryptography.x509.oid import NameOID

from tests.support.certificates import Authority, Issued

NOBODY = "nobody"
EXPIRED, STRANGER, UNNAMED = "expired", "stranger", "unnamed"
_A = NameAttribute
_CN, _OU, _O = NameOID.COMMON_NAME, NameOID.ORGANIZATIONAL_UNIT_NAME, NameOID.ORGANIZATION_NAME
SUBJECTS = {
    "alice": Name([_A(_CN, "alice")]),
    "admin": Name([_A(_CN, "admin")]),
    "boss": Name([_A(_CN, "boss")]),
    "empty": Name([_A(_CN, "empty")]),
    "unit": Name([_A(_OU, "ops"), _A(_CN, "alice")]),
    "escaped": Name([_A(_O, "Org, Inc."), _A(_CN, 'a+b="c"\\#<d>;')]),
    "blanks": Name([_A(_CN, "  a  b ")]),
    "several": Name([RelativeDistinguishedName([_A(_CN, "a"), _A(_OU, "b")])]),
    "umlaut": Name([_A(_CN, "Jürgen Ж")]),
    "mail": Name([_A(NameOID.EMAIL_ADDRESS, "a@b.c"), _A(_CN, "mail")]),
    "user id": Name([_A(NameOID.DOMAIN_COMPONENT, "example"), _A(NameOID.USER_ID, "u1")]),
    "zero": Name([_A(_CN, "admin\0.evil.com")]),
    "nameless": Name([]),
}


class Presented:
    """What clients of one server show."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority

    def context(self, name: str) -> ssl.SSLContext:
        """Of a client with the certificate of this name; NOBODY has none."""
        context = ssl.create_default_context(cadata=self._authority.pem)
        if name != NOBODY:
            with NamedTemporaryFile("w", suffix=".pem") as file:
                issued = self._issued(name)
                file.write(issued.key_pem() + issued.certificate_pem)
                file.flush()
                context.load_cert_chain(file.name)
        return context

    def _issued(self, name: str) -> Issued:
        if name == EXPIRED:
            return self._authority.issue(SUBJECTS["alice"], is_expired=True)
        if name == STRANGER:
            return Authority("Stranger").issue(SUBJECTS["alice"])
        if name == UNNAMED:  # not even by alternative names that are critical
            return self._authority.issue(SUBJECTS["nameless"], has_critical_hosts=False)
        return self._authority.issue(SUBJECTS[name])
