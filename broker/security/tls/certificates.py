"""Fields of a certificate: its validity, and the hosts it is for. Pure, over its bytes in DER.

Enough for `doctor`, with no library: the verification of a certificate is left to the client.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import NamedTuple

from barnabas.broker.security.tls.extensions import alternative_names
from barnabas.protocol.security.stores.der import SEQUENCE, elements, only

_VERSION, _UTC_TIME, _DNS_NAME, _IP_ADDRESS = 0xA0, 0x17, 0x82, 0x87
_CENTURY_BEGINS = 50  # of two digits of a year: 49 is 2049, 50 is 1950 (RFC 5280)


class Validity(NamedTuple):
    """The period of validity."""

    begins: datetime
    ends: datetime


def validity_of(certificate: bytes) -> Validity:
    """Return when a certificate is valid. Raises ValueError for bytes that are not a certificate."""
    parts = list(elements(only(certificate, SEQUENCE)))
    fields = [each for each in elements(parts[0].content) if each.tag != _VERSION] if parts else []
    times = list(elements(fields[3].content)) if len(fields) > 3 else []
    if len(times) != 2:
        raise ValueError("a certificate has no validity")
    return Validity(*(_time(each.tag, each.content) for each in times))


def _time(tag: int, content: bytes) -> datetime:
    text = content.decode("ascii")
    if tag == _UTC_TIME:
        text = ("19" if int(text[:2]) >= _CENTURY_BEGINS else "20") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def hosts_of(certificate: bytes) -> list[str]:
    """Return the names and addresses of its hosts, sorted. Raises ValueError for bytes that are not a certificate."""
    found = []
    for encoded in alternative_names(certificate):
        (name,) = elements(encoded)
        if name.tag == _DNS_NAME:
            found.append(name.content.decode("ascii", "replace").lower())
        elif name.tag == _IP_ADDRESS and len(name.content) in (4, 16):
            found.append(str(ip_address(name.content)))
    return sorted(found)


def is_for(host: str, hosts: Iterable[str]) -> bool:
    """Return whether clients that connect to `host` accept a certificate for `hosts`: its first label may be `*`."""
    try:
        wanted = str(ip_address(host))
    except ValueError:
        wanted = host.lower().rstrip(".")
        wildcard = f"*.{wanted.partition('.')[2]}"
        return any(each in (wanted, wildcard) for each in hosts)
    return wanted in hosts
