"""scripts/serve_in_job, and the GitHub Action that runs it: the step ends when clients can connect."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from barnabas.client.admin.topics import list_topics
from barnabas.client.client import Client
from barnabas.form import PURE
from tests.support.source_tree import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.fixture
def variables(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables of a job with its files; the broker in it is killed at the end."""
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_ENV")}
    program = f"{sys.executable} -m barnabas serve"  # scripts/serve would install it first
    runner = {"RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    broker = {"BARNABAS_PORT": "0", "BARNABAS_SERVE": program, "BARNABAS_FORM": PURE}  # so no line on a stale build
    yield {**files, **runner, **broker}
    for status in Path("/proc").glob("[0-9]*/environ"):
        try:
            is_ours = f"RUNNER_TEMP={tmp_path}".encode() in status.read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended, or is another user's
        if is_ours:
            os.kill(int(status.parent.name), signal.SIGKILL)


def run(variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the step of the action."""
    (step,) = ACTION["runs"]["steps"]
    return subprocess.run(
        ["bash", "-c", step["run"]], env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )


def test_the_next_steps_have_a_broker_with_its_topics(variables: dict[str, str], tmp_path: Path) -> None:
    seed = tmp_path / "a seed.yaml"
    seed.write_text("topics: [{name: seeded, records: [{value: x}]}]")
    given = {"BARNABAS_TOPICS": "orders:3\n payments", "BARNABAS_SEED": str(seed), "BARNABAS_ARGUMENTS": "--brokers 2"}
    done = run({**variables, **given})
    assert done.returncode == 0, done.stderr
    addresses = Path(variables["GITHUB_OUTPUT"]).read_text().strip().removeprefix("bootstrap-servers=")
    assert Path(variables["GITHUB_ENV"]).read_text() == f"KAFKA_BOOTSTRAP_SERVERS={addresses}\n"
    assert done.stdout.startswith(f"bootstrap.servers: {addresses}, process: ")
    assert addresses.count(",") == 1
    with Client(addresses) as client:
        topics = {each.name: len(each.partitions) for each in list_topics(client)}
    assert topics == {"orders": 3, "payments": 1, "seeded": 1}


def test_with_secure_the_next_steps_have_the_settings_of_clients(variables: dict[str, str]) -> None:
    done = run({**variables, "BARNABAS_ARGUMENTS": "--secure"})
    assert done.returncode == 0, done.stderr
    [settings] = re.findall(r"^client-settings=(.*)$", Path(variables["GITHUB_OUTPUT"]).read_text(), re.MULTILINE)
    assert Path(variables["GITHUB_ENV"]).read_text().endswith(f"\nKAFKA_CLIENT_SETTINGS={settings}\n")
    addresses = re.findall(r"^bootstrap.servers: (\S+),", done.stdout)
    client = ["--bootstrap-server", *addresses, "--command-config", f"{settings}/client.properties"]
    listing = [sys.executable, "-m", "barnabas", "topics", "list", *client]
    assert subprocess.run(listing, cwd=ROOT, capture_output=True, check=False).returncode == 0


def test_a_broker_that_does_not_start_fails_the_step_with_its_reason(variables: dict[str, str], tmp_path: Path) -> None:
    done = run({**variables, "BARNABAS_ARGUMENTS": "--brokers none"})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "barnabas: --brokers 'none' is not a number from 1 to 16\n"
    assert list(tmp_path.iterdir()) == []


def test_every_input_is_a_variable_of_the_step_and_on_the_page() -> None:
    (step,) = ACTION["runs"]["steps"]
    page = (ROOT / "docs" / "ci.md").read_text()
    assert step["env"] == {f"BARNABAS_{name.upper()}": f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(ACTION["inputs"])
