"""Request and response headers: their bytes, the exception for ApiVersions, and headers of what nobody knows."""

import pytest

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.headers import (
    RequestHeader,
    encode_request_header,
    encode_response_header,
    parse_request_header,
    parse_response_header,
)
from barnabas.protocol.registry import ApiKey


@pytest.mark.parametrize(
    ("version", "text"), [(8, "0003 0008 0000002a 0002 6d65"), (9, "0003 0009 0000002a 0002 6d65 00")]
)
def test_a_flexible_request_header_keeps_the_short_length_of_the_client_id_and_ends_with_tags(
    version: int, text: str
) -> None:
    header = bytes.fromhex(text)
    assert encode_request_header(ApiKey.METADATA, version, 42, "me") == header
    for data in (header + b"body", memoryview(header + b"body")):
        assert parse_request_header(data) == (RequestHeader(3, version, 42, "me"), len(header))


def test_unknown_tags_of_a_request_header_are_skipped() -> None:
    header = bytes.fromhex("0003 0009 0000002a ffff 01 07 02 abcd")
    assert parse_request_header(header) == (RequestHeader(3, 9, 42, None), len(header))


@pytest.mark.parametrize(("key", "version"), [(18, 99), (18, -1), (3, 14), (4, 0), (1000, 3), (-5, -5)])
def test_a_header_of_an_unknown_api_or_version_is_parsed_all_the_same(key: int, version: int) -> None:
    sent = RequestHeader(key, version, 7, "someone")
    header = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True)
    parsed, _ = parse_request_header(header + bytes.fromhex("00000007 0007") + b"someone")
    assert parsed == sent


@pytest.mark.parametrize("size", range(15))
def test_a_cut_request_header_is_refused(size: int) -> None:
    whole = encode_request_header(ApiKey.METADATA, 9, 42, "me!!")
    assert len(whole) == 15
    with pytest.raises(DecodeError):
        parse_request_header(whole[:size])


def test_a_client_id_that_is_not_text_is_refused() -> None:
    with pytest.raises(DecodeError):
        parse_request_header(bytes.fromhex("0003 0008 0000002a 0001 ff"))


@pytest.mark.parametrize(
    ("key", "version", "tags"),
    [
        (ApiKey.METADATA, 8, b""),
        (ApiKey.METADATA, 9, b"\0"),
        (ApiKey.API_VERSIONS, 0, b""),
        (ApiKey.API_VERSIONS, 4, b""),
        (ApiKey.SASL_HANDSHAKE, 1, b""),
    ],
)
def test_response_headers_carry_tags_when_flexible_but_never_for_api_versions(
    key: ApiKey, version: int, tags: bytes
) -> None:
    header = encode_response_header(key, version, -3)
    assert header == b"\xff\xff\xff\xfd" + tags
    assert parse_response_header(key, version, header + b"body") == (-3, len(header))


def test_a_cut_response_header_is_refused() -> None:
    for size in range(5):
        with pytest.raises(DecodeError):
            parse_response_header(ApiKey.METADATA, 9, encode_response_header(ApiKey.METADATA, 9, 1)[:size])
