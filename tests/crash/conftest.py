"""Whether there is a file system that loses data, and what is told of it at the end."""

import pytest

from tests.support.lossy.device import MountRefused
from tests.support.lossy.disk import LossyDisk


@pytest.fixture(scope="session")
def lossy_disks(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where the kernel refuses the mount: then tests/transactions/test_power_cuts.py says what is done instead."""
    try:
        with LossyDisk(tmp_path_factory.mktemp("probe")):
            pass
    except MountRefused as why:
        pytest.skip(str(why))
