"""How the producers of a run are: models of what, how patient, with what transactions, and who never comes back.

Drawn with dice of its own, and switched on in a part of the seeds, so that a plan without it is what it was.
"""

import random
from dataclasses import dataclass

from tests.simulation.world.network import Weather

PLAIN, JAVA, LIBRDKAFKA = "plain", "java", "librdkafka"
_CHECK_MS, _RARE_CHECK_MS, _FREQUENT_CHECK_MS = 1_000, 10_000, 200
_SLOW_US = 2_000_000


@dataclass(frozen=True, slots=True)
class Producing:
    """Times in milliseconds of the world; the others are probabilities for each transaction, and numbers of clients."""

    stock: str = PLAIN
    """What a producer is a model of: `java`, `librdkafka`, or `plain`, which never gives up."""
    request_ms: int = 3_000
    """How long an answer is waited for until the connection is given up."""
    delivery_ms: int = 0
    """After how long a producer gives up a record; 0 is never."""
    long: float = 0.0
    """How probable it is that a transaction is longer than its timeout, and has new partitions in between."""
    long_timeout_ms: int = 0
    vanish: float = 0.0
    """How probable it is that a producer leaves a transaction open and never comes back."""
    skippers: int = 0
    """How many producers there are that leave sequences out, as none may."""
    check_ms: int = _CHECK_MS
    """How often the broker looks for transactions whose time is up."""
    slow: float = 0.0
    """How probable it is that a message takes long, beside what the weather has."""

    def timeout_ms(self, before: int) -> int:
        """Of transactions."""
        return self.long_timeout_ms or before

    def weather(self, before: Weather) -> Weather:
        """What the network is like: slow where it is to deliver what was given up."""
        if not self.slow:
            return before
        return Weather(before.latency_us, max(before.slow, self.slow), _SLOW_US, before.split, before.cut)

    def features(self) -> set[str]:
        """What of it is switched on, by name."""
        found = {
            self.stock: self.stock != PLAIN,
            "impatient": self.delivery_ms > 0,
            "long transactions": self.long > 0,
            "vanishing": self.vanish > 0,
            "skippers": self.skippers > 0,
            "rare checks": self.check_ms == _RARE_CHECK_MS,
        }
        return {name for name, is_on in found.items() if is_on}


def producing_for(seed: int) -> Producing:
    """Those of a seed."""
    dice = random.Random(f"{seed}/producers")
    kind, has = dice.random(), [dice.random() < share for share in (0.25, 0.2, 0.2, 0.15, 0.2)]
    is_impatient, is_long, is_vanishing, has_skippers, is_rarely_checked = has
    request_ms = dice.choice([200, 500])
    long_timeout_ms = dice.choice([1_000, 2_000, 3_000])
    delivery_ms = request_ms * dice.choice([1, 1, 2, 4])
    return Producing(
        stock=JAVA if kind < 0.15 else LIBRDKAFKA if kind < 0.25 else PLAIN,
        request_ms=request_ms if is_impatient else 3_000,
        delivery_ms=delivery_ms if is_impatient else 0,
        slow=0.15 if is_impatient else 0.0,
        long=0.3 if is_long else 0.0,
        long_timeout_ms=long_timeout_ms if is_long else 0,
        vanish=0.03 if is_vanishing else 0.0,
        skippers=int(has_skippers),
        check_ms=_FREQUENT_CHECK_MS if is_long else _RARE_CHECK_MS if is_rarely_checked else _CHECK_MS,
    )
