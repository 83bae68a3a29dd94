"""What real clients sent to Apache Kafka, and what it answered: read whole, and written again byte for byte.

`captured_frames.txt` has one exchange a line: client, API, version, request and response in hex, without the size in
front. They were recorded between the broker and stock clients producing, consuming in groups, committing transactions
and administering topics; `kafka-broker-4.3.1` is the broker talking to itself. `java-4.4.0` spoke to Kafka 4.4.0, all
others to 4.3.1.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.protocol.headers import (
    encode_request_header,
    encode_response_header,
    parse_request_header,
    parse_response_header,
)
from barnabas.protocol.messages.api_versions import ApiVersionsResponse
from barnabas.protocol.registry import ApiKey, request_codec, response_codec


class Exchange(NamedTuple):
    client: str
    key: ApiKey
    version: int
    request: bytes
    response: bytes


def exchanges() -> list[Exchange]:
    by_name = {key.api_name: key for key in ApiKey}
    lines = Path(__file__).with_name("captured_frames.txt").read_text().splitlines()
    return [
        Exchange(client, by_name[api], int(version), bytes.fromhex(request), bytes.fromhex(response))
        for client, api, version, request, response in (line.split() for line in lines)
    ]


EXCHANGES = exchanges()
every_exchange = pytest.mark.parametrize(
    "exchange", EXCHANGES, ids=lambda exchange: f"{exchange.client}-{exchange.key.api_name}-v{exchange.version}"
)


@every_exchange
def test_a_clients_request_is_read_and_written_again(exchange: Exchange) -> None:
    header, position = parse_request_header(memoryview(exchange.request))
    assert (header.api_key, header.api_version) == (exchange.key, exchange.version)
    codec = request_codec(exchange.key, exchange.version)
    message, end = codec.decode(memoryview(exchange.request), position)
    assert end == len(exchange.request)
    assert encode_request_header(*header) + codec.encode(message) == exchange.request


@every_exchange
def test_kafkas_response_is_read_and_written_again(exchange: Exchange) -> None:
    correlation_id, position = parse_response_header(exchange.key, exchange.version, exchange.response)
    assert correlation_id == parse_request_header(exchange.request)[0].correlation_id
    codec = response_codec(exchange.key, exchange.version)
    message, end = codec.decode(exchange.response, position)
    assert end == len(exchange.response)
    header = encode_response_header(exchange.key, exchange.version, correlation_id)
    assert header + codec.encode(message) == exchange.response


def test_the_registry_has_the_ranges_kafka_advertises() -> None:
    answers = [each for each in EXCHANGES if each.key is ApiKey.API_VERSIONS and each.client == "java-4.4.0"]
    assert answers
    for answer in answers:
        _, position = parse_response_header(answer.key, answer.version, answer.response)
        response, _ = response_codec(answer.key, answer.version).decode(answer.response, position)
        assert isinstance(response, ApiVersionsResponse)
        advertised = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
        telemetry = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}  # only with a plug-in that receives it
        ours = {int(key): (key.advertised_min_version, key.max_version) for key in ApiKey if key not in telemetry}
        assert ours == advertised
