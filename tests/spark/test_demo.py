"""The demo as somebody sees it who has just cloned the repository, only shorter."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.processes.server import ROOT
from tests.support.spark.cluster import QUICK_JVM

TIMEOUT_S = 900


@pytest.mark.long  # the chaos of the pipeline kills the same, and audits it in the same way
def test_everything_is_killed_once_and_nothing_is_wrong(seed: int, tmp_path: Path) -> None:
    directory = tmp_path / "demo"
    ended = subprocess.run(
        [ROOT / "scripts" / "demo", "--quick", "--seed", str(seed), "--directory", directory],
        env=os.environ | {"JDK_JAVA_OPTIONS": QUICK_JVM},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert "nothing lost, nothing doubled, nothing half done" in ended.stdout
    notes = [json.loads(line) for line in (directory / "notes.jsonl").read_text().splitlines()]
    kills = {note["victim"]: note["processes"] for note in notes if note["event"] == "kill"}
    assert set(kills) == {"Python workers", "broker", "Spark driver"}
    assert all(kills.values())
    starts = [note["name"] for note in notes if note["event"] == "started"]
    assert starts.count("broker") >= 2
    assert starts.count("driver") >= 2
    verdict = json.loads((directory / "verdict.json").read_text())
    assert verdict["verdict"] == "right"
    counts = {check["name"]: check["counts"] for check in verdict["checks"]}
    assert counts["coverage"]["orders.raw"] > 5000
    assert counts["coverage"]["orders.rejected"] > 100
    assert counts["segments"]["aborts"] > 0
    assert counts["sums"]["written"] > 0
    assert (directory / "report.html").read_text().count("<svg") == 4
