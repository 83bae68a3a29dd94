"""A broker for the fast tests: this interpreter, this checkout, a free port, and the directory the test gives."""

import sys

from tests.support.processes.broker import BrokerProcess


class OwnBroker(BrokerProcess):
    """`python -m barnabas serve` under the Python that runs the tests, whichever that is."""

    def command(self) -> list[str]:
        _, *arguments = super().command()
        return [sys.executable, "-m", "barnabas", *arguments]
