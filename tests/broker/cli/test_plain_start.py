"""What `barnabas serve` imports where nobody asks for more than a broker: memory and time of every start."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT

PROGRAM = """
import sys
sys.argv[1:] = ["serve", "--data-dir", sys.argv[1], "--port", "0", "--stop-with-stdin"]
from barnabas.broker.cli import main
main()
print(*sys.modules)
"""
NOT_NEEDED = (
    # of Python, each with more behind it
    "pathlib",
    "pickle",
    "shutil",
    "urllib.parse",
    # of others
    "prometheus_client",
    "starlette",
    # of ours: what inspects, controls, tells, and helps
    "barnabas.broker.metadata.access.access_control",
    "barnabas.broker.api.stages.tracing",
    "barnabas.broker.security.acl",
    "barnabas.broker.metadata.access.acls",
    "barnabas.broker.config.authorizer",
    "barnabas.broker.http.console",
    "barnabas.broker.http.control",
    "barnabas.broker.coordinator.events",
    "barnabas.broker.control.faults.registry",
    "barnabas.broker.api.guards",
    "barnabas.broker.insight.history.history",
    "barnabas.broker.http",
    "barnabas.broker.insight.inspection",
    "barnabas.broker.network.tls.tls_stream",
    "barnabas.broker.server.secure",
    "barnabas.broker.control.time_control.movable_clock",
    "barnabas.broker.security.oauth_keys",
    "barnabas.registry",
    "barnabas.broker.security.tls",
    "barnabas.broker.insight.why",
    "barnabas.storage.cleaner",
    "barnabas.storage.log.batches",
    "barnabas.storage.log.log_cells",
)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules of a broker that has started in an empty directory, and stopped."""
    directory: Path = tmp_path_factory.mktemp("plain") / "data"
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(directory)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("COV")},  # it imports more
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ran.stdout.split())


def test_a_broker_was_started(loaded: set[str]) -> None:
    assert {"barnabas.broker.server.broker", "barnabas.storage.log.log"} <= loaded


@pytest.mark.parametrize("module", NOT_NEEDED)
def test_a_plain_start_does_without(loaded: set[str], module: str) -> None:
    assert find_spec(module) is not None
    assert not sorted(name for name in loaded if name == module or name.startswith(module + "."))
