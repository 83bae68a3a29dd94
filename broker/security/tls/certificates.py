"""What a certificate says of itself: until when it is valid, and which hosts it is for. Pure, over its bytes in DER.

Enough for `doctor`, with no library: what a client makes of a certificate is the client's.
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
    """From when until when."""

    begins: datetime
    ends: datetime


def validity_of(certificate: bytes) -> Validity:
    """When a certificate is valid. ValueError for bytes that are none."""
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
    """The names and addresses of hosts that it is for, sorted. ValueError for bytes that are no certificate."""
    found = []
    for encoded in alternative_names(certificate):
        (name,) = elements(encoded)
        if name.tag == _DNS_NAME:
            found.append(name.content.decode("ascii", "replace").lower())
        elif name.tag == _IP_ADDRESS and len(name.content) in (4, 16):
            found.append(str(ip_address(name.content)))
    return sorted(found)


def is_for(host: str, hosts: Iterable[str]) -> bool:
    """Whether clients that connect to `host` find it in a certificate for `hosts`: the first label may be `*`."""
    try:
        wanted = str(ip_address(host))
    except ValueError:
        wanted = host.lower().rstrip(".")
        wildcard = f"*.{wanted.partition('.')[2]}"
        return any(each in (wanted, wildcard) for each in hosts)
    return wanted in hosts
