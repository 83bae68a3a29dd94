"""ssl.cipher.suites: the names of IANA, as Java spells them, and those of OpenSSL.

TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256. The suites of TLS 1.3 have the same names in both.
Pure: whether a suite is available is known by the SSL context.
"""

from __future__ import annotations

import re

TLS_1_3_SUITES = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
_SUITE = re.compile(
    r"TLS_(?P<exchange>(?:ECDHE_ECDSA|ECDHE_RSA|DHE_RSA|RSA))_WITH_"
    r"(?:(?P<cipher>(?:AES|CAMELLIA|ARIA)_(?:128|256))_(?P<mode>CBC|GCM|CCM|CCM_8)(?:_(?P<digest>SHA|SHA256|SHA384))?"
    r"|CHACHA20_POLY1305_SHA256)"
)
_SIGNALS = ("TLS_EMPTY_RENEGOTIATION_INFO_SCSV",)
"""Names that Java lists among the suites, but that are not suites."""


def split_suites(names: list[str]) -> tuple[list[str], list[str]]:
    """Return (suites of TLS 1.3, suites of TLS 1.2 with OpenSSL's names). ValueError for an unknown one."""
    newer, older = [], []
    for name in names:
        if name in TLS_1_3_SUITES:
            newer.append(name)
        elif name not in _SIGNALS:
            older.append(openssl_name(name))
    return newer, older


def openssl_name(name: str) -> str:
    """Return OpenSSL's name of a TLS 1.2 suite. ValueError."""
    found = _SUITE.fullmatch(name)
    if found is None:
        raise ValueError(f"ssl.cipher.suites: {name} is unknown")
    exchange = "" if found["exchange"] == "RSA" else found["exchange"].replace("_", "-") + "-"
    if found["cipher"] is None:
        return f"{exchange}CHACHA20-POLY1305"
    cipher = found["cipher"].replace("_", "")
    mode = "" if found["mode"] == "CBC" else "-" + found["mode"].replace("_", "")
    digest = f"-{found['digest']}" if found["digest"] else ""
    return f"{exchange}{cipher}{mode}{digest}"
