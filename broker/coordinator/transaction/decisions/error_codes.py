# compiled: mypyc
"""The error code in a client's response: the first versions of each API know fewer codes."""

from __future__ import annotations

from typing import Final

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.registry import ApiKey

_PRODUCER_FENCED: Final = ErrorCode.PRODUCER_FENCED  # compiled, the look-up of an enum's member takes as long as a call
_FENCED_SINCE: Final = {
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.ADD_PARTITIONS_TO_TXN: 2,
    ApiKey.ADD_OFFSETS_TO_TXN: 2,
    ApiKey.END_TXN: 2,
}
"""The first version whose clients know PRODUCER_FENCED; before, any stale epoch is INVALID_PRODUCER_EPOCH."""


def code_in_version(code: ErrorCode, api_key: int, version: int) -> ErrorCode:
    """Return the code that a client of this version of the API knows."""
    if code is _PRODUCER_FENCED and version < _FENCED_SINCE[ApiKey(api_key)]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
