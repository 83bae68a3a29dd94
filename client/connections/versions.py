"""The choice of an API's version: the highest that both sides support, up to this client's limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.client.errors import UnsupportedByBroker
from barnabas.protocol.registry import ApiKey


class ApiVersionRange(NamedTuple):
    """The versions that a broker offers of one API, both ends included."""

    low: int
    high: int


# This client uses topic names. The versions above these use only topic ids.
# It also supports the version of InitProducerId that a broker offers only if two-phase commits are enabled.
VERSION_CAPS: dict[ApiKey, int] = {
    ApiKey.INIT_PRODUCER_ID: 6,
    ApiKey.PRODUCE: 12,
    ApiKey.FETCH: 12,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.OFFSET_FETCH: 9,
    ApiKey.TXN_OFFSET_COMMIT: 5,
}


def choose_version(api: ApiKey, offered: Mapping[int, ApiVersionRange], highest: int | None = None) -> int:
    """Return the version for a broker that offers `offered`, not above `highest`; UnsupportedByBroker if none fits."""
    theirs = offered.get(api)
    if theirs is None:
        raise UnsupportedByBroker(f"the broker does not offer {api.api_name}")
    ours = VERSION_CAPS.get(api, api.max_version) if highest is None else highest
    best = min(theirs.high, ours)
    if best < max(theirs.low, api.min_version):
        raise UnsupportedByBroker(
            f"the broker offers {api.api_name} in versions {theirs.low} to {theirs.high}, "
            f"this client supports {api.min_version} to {ours}"
        )
    return best
