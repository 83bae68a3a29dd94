"""IANA's names of suites and OpenSSL's."""

import pytest

from barnabas.protocol.security.stores.ciphers import openssl_name, split_suites


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "ECDHE-RSA-AES256-SHA384"),
        ("TLS_DHE_RSA_WITH_AES_128_CBC_SHA", "DHE-RSA-AES128-SHA"),
        ("TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", "ECDHE-ECDSA-AES128-CCM8"),
    ],
)
def test_a_suite_of_tls_1_2_has_two_names(name: str, named: str) -> None:
    assert openssl_name(name) == named


def test_suites_are_told_apart_by_version_and_javas_signal_is_none() -> None:
    names = ["TLS_AES_256_GCM_SHA384", "TLS_EMPTY_RENEGOTIATION_INFO_SCSV", "TLS_RSA_WITH_AES_128_CBC_SHA"]
    assert split_suites(names) == (["TLS_AES_256_GCM_SHA384"], ["AES128-SHA"])


@pytest.mark.parametrize(
    "name", ["ECDHE-RSA-AES128-GCM-SHA256", "TLS_RSA_WITH_NULL_SHA", "SSL_RSA_WITH_RC4_128_MD5", ""]
)
def test_other_names_are_unknown(name: str) -> None:
    with pytest.raises(ValueError, match="is unknown"):
        openssl_name(name)
