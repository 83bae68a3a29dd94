"""Generated orders: plausible ones, and a few of every kind that has to be rejected. Pure, from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from pipeline.catalogue import EURO_MILLIONTHS, PRODUCTS

MERCHANTS = tuple(f"merchant-{number:02}" for number in range(20))
CORRUPT_SHARE = 0.03


class Order(NamedTuple):
    """A record for the topic of raw orders. `corruption` names its error; None for a valid one."""

    key: bytes
    value: bytes | None
    corruption: str | None


class OrderStream:
    """A generator of orders; the same seed and the same times give the same orders."""

    def __init__(self, seed: int, *, corrupt_share: float = CORRUPT_SHARE) -> None:
        self._random = random.Random(seed)
        self._corrupt_share = corrupt_share
        self._name = f"{seed:x}"
        self._count = 0

    def next(self, now_ms: int) -> Order:
        """Return an order placed at `now_ms`."""
        self._count += 1
        fields = {
            "order_id": f"{self._name}-{self._count}",
            "merchant": self._random.choice(MERCHANTS),
            "sku": self._random.choice(tuple(PRODUCTS)),
            "quantity": self._random.randint(1, 9),
            "price": self._random.randint(99, 99_999),
            "currency": self._random.choice(tuple(EURO_MILLIONTHS)),
            "ordered_at": datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        }
        key = str(fields["merchant"]).encode()
        if self._random.random() >= self._corrupt_share:
            return Order(key, _encode(fields), None)
        name = self._random.choice(tuple(_CORRUPTIONS))
        return Order(key, _CORRUPTIONS[name](fields, self._random), name)


Fields = dict[str, object]


def _encode(fields: Fields) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _without_a_field(fields: Fields, randomness: random.Random) -> bytes:
    del fields[randomness.choice(tuple(fields))]
    return _encode(fields)


_CORRUPTIONS: dict[str, Callable[[Fields, random.Random], bytes | None]] = {
    "nothing": lambda fields, randomness: None,
    "cut": lambda fields, randomness: _encode(fields)[: randomness.randint(1, 40)],
    "noise": lambda fields, randomness: randomness.randbytes(randomness.randint(1, 60)),
    "no object": lambda fields, randomness: b"[1,2]",
    "incomplete": _without_a_field,
    "no number": lambda fields, randomness: _encode({**fields, "price": "cheap"}),
    "quantity": lambda fields, randomness: _encode({**fields, "quantity": randomness.choice((0, -1, 1001))}),
    "overflow": lambda fields, randomness: _encode({**fields, "quantity": 2**31 - 1, "price": 2**63 - 1}),
    "product": lambda fields, randomness: _encode({**fields, "sku": "unknown-sku"}),
    "currency": lambda fields, randomness: _encode({**fields, "currency": "DBL"}),
    "future": lambda fields, randomness: _encode({**fields, "ordered_at": "2999-01-01T00:00:00.000+00:00"}),
}
