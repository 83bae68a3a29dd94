"""The worked bytes of docs/formats/messages.md."""

import re
from pathlib import Path

import pytest

from barnabas.protocol.codec.compile import codec
from barnabas.protocol.headers import encode_request_header
from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.registry import ApiKey

PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "messages.md").read_text()
CLASSIC = FindCoordinatorRequest(key="my-group", key_type=0)
FLEXIBLE = FindCoordinatorRequest(coordinator_keys=["my-group"], key_type=0)


def bytes_in(block: str, column: slice) -> str:
    """The hex digits at the start of each line of the code block that begins with `block`, within `column`."""
    lines = PAGE[PAGE.index(block) :].split("```")[0].splitlines()
    return "".join(re.match(r"((?:[0-9a-f]{2} +)*)", line[column].strip() + " ")[1] for line in lines).replace(" ", "")  # type: ignore[index]  # because the pattern always matches


@pytest.mark.parametrize(
    ("message", "version", "column"), [(CLASSIC, 2, slice(12, 58)), (FLEXIBLE, 4, slice(70, None))]
)
def test_find_coordinator(message: FindCoordinatorRequest, version: int, column: slice) -> None:
    encoded = encode_request_header(ApiKey.FIND_COORDINATOR, version, 7, "me")
    encoded += codec(FindCoordinatorRequest, version).encode(message)
    assert bytes_in("version 2   00 0a", column) == encoded.hex()


def test_api_versions() -> None:
    response = ApiVersionsResponse(
        error_code=0,
        api_keys=[ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=0, max_version=4)],
        finalized_features_epoch=3,
    )
    assert bytes_in("00 00                          error_code", slice(None)) == (
        codec(ApiVersionsResponse, 3).encode(response).hex()
    )
