"""A broker with a planted bug in its own process: `python -m tests.support.processes.planted BUG serve …`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.planting import plant
from tests.support.processes.broker import BrokerProcess


class PlantedBroker(BrokerProcess):
    """With the bug of this name. It runs the pure form: compiled code cannot be changed."""

    def __init__(self, bug: str, data_dir: Path, settings: Mapping[str, object] | None = None) -> None:
        super().__init__(data_dir, settings)
        self._bug = bug

    def command(self) -> list[str]:
        _, *arguments = super().command()
        module = "tests.support.processes.planted"
        return ["env", "BARNABAS_FORM=pure", sys.executable, "-m", module, self._bug, *arguments]


def main() -> int:
    plant(BUGS[sys.argv.pop(1)])
    from barnabas.broker.cli import main as run  # imported here, with the bug

    return run()


if __name__ == "__main__":
    sys.exit(main())
