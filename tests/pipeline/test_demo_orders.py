"""The orders that the demo makes up."""

import json

from pipeline.catalogue import EURO_MILLIONTHS, PRODUCTS
from pipeline.demo.orders import OrderStream

NOW_MS = 1_700_000_000_000


def test_a_seed_gives_the_same_orders_again() -> None:
    first, second, other = OrderStream(1), OrderStream(1), OrderStream(2)
    orders = [first.next(NOW_MS + n) for n in range(500)]
    assert orders == [second.next(NOW_MS + n) for n in range(500)]
    assert orders != [other.next(NOW_MS + n) for n in range(500)]


def test_most_orders_are_valid_and_every_corruption_comes_up() -> None:
    stream = OrderStream(3)
    orders = [stream.next(NOW_MS) for _ in range(5000)]
    corrupt = [order for order in orders if order.corruption is not None]
    assert 50 < len(corrupt) < 300
    assert len({order.corruption for order in corrupt}) == 11
    for order in orders:
        if order.corruption is None:
            fields = json.loads(order.value or b"")
            assert fields["sku"] in PRODUCTS
            assert fields["currency"] in EURO_MILLIONTHS
            assert order.key == fields["merchant"].encode()
            assert fields["ordered_at"] == "2023-11-14T22:13:20.000+00:00"
