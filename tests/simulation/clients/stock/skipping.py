"""A producer that is wrong: it leaves sequences out, and goes on behind what was refused. A broker must not let it."""

from tests.simulation.clients.producer import Producer
from tests.simulation.history.history import Send

_SKIPS = 0.2


class SkippingProducer(Producer):
    """As any other, but for that."""

    def _number(self, send: Send) -> None:
        if self._dice.random() < _SKIPS:
            self._sequences[send.at] = self._sequences.get(send.at, 0) + 1
        super()._number(send)
