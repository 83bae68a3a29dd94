"""The products and currencies of the example shop. Plain data, for the jobs and for the generator of orders."""

from __future__ import annotations

CATEGORIES = ("books", "garden", "kitchen", "music", "tools")
PRODUCTS = {f"sku-{number:03}": CATEGORIES[number % len(CATEGORIES)] for number in range(100)}
"""Category by sku."""

EURO_MILLIONTHS = {"EUR": 1_000_000, "GBP": 1_150_000, "USD": 865_000, "CHF": 1_070_000, "SEK": 91_000}
"""The value of a hundredth of a currency, in millionths of a euro's hundredth: fixed, so that sums can be checked."""
