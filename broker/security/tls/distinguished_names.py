"""The subject of a certificate in the form of Java's X500Principal.getName(): RFC 2253, the most specific part first.

Kafka maps and authorizes this very text, so it has to be Java's to the letter: which attributes have a keyword, which
characters are escaped, what is written in hexadecimal. Pure, over the bytes of a certificate.
"""

from __future__ import annotations

from barnabas.broker.security.tls.extensions import has_critical_alternative_names
from barnabas.protocol.security.stores.der import (
    OBJECT_IDENTIFIER,
    SEQUENCE,
    SET,
    Element,
    elements,
    object_identifier,
    only,
)

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
"""The keywords of RFC 2253. Java writes the number of any other, and its value in hexadecimal."""
_STRINGS = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
"""UTF8String, PrintableString, TeletexString, IA5String, GeneralString, BMPString: Java reads all of them as UTF-8."""
_ESCAPED = ',=+<>#;"\\'
_BLANK = " \r"
_VERSION = 0xA0


def subject_of(certificate: bytes) -> str:
    """Return the subject of a certificate in DER. Raises ValueError for other bytes, or without a subject.

    A subject may be empty where there are alternative names that are critical (RFC 5280). Java reads no others.
    """
    parts = list(elements(only(certificate, SEQUENCE)))
    fields = [each for each in elements(parts[0].content) if each.tag != _VERSION] if parts else []
    if len(fields) < 5 or fields[4].tag != SEQUENCE:
        raise ValueError("a certificate has no subject")
    if not fields[4].content and not has_critical_alternative_names(certificate):
        raise ValueError("a certificate without a subject has no alternative names that are critical")
    return name_of(fields[4].content)


def name_of(content: bytes) -> str:
    """Return the text of a Name: the content of its sequence."""
    return ",".join(_relative_name(each) for each in reversed(list(elements(content))))


def _relative_name(element: Element) -> str:
    if element.tag != SET:
        raise ValueError("a part of a name is not a set")
    return "+".join(_attribute(each) for each in elements(element.content))


def _attribute(element: Element) -> str:
    parts = list(elements(element.content))
    if element.tag != SEQUENCE or len(parts) != 2 or parts[0].tag != OBJECT_IDENTIFIER:
        raise ValueError("an attribute of a name is not a type and a value")
    number, value = object_identifier(parts[0].content), parts[1]
    keyword = _KEYWORDS.get(number)
    if keyword is None or value.tag not in _STRINGS:
        return f"{keyword or number}=#{value.encoded.hex()}"
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    written = "".join("\\00" if each == "\0" else "\\" + each if each in _ESCAPED else each for each in text)
    inner = written.strip(_BLANK)
    if not inner:
        return "".join("\\" + each for each in written)
    lead = len(written) - len(written.lstrip(_BLANK))
    trail = len(written) - len(written.rstrip(_BLANK))
    before, after = written[:lead], written[len(written) - trail :]
    return "".join("\\" + each for each in before) + inner + "".join("\\" + each for each in after)
