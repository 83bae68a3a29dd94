"""What stock clients are told by a broker whose machine loses its power again and again, judged by the rules.

The broker is a process, its disk a file system that loses what was not synced, its settings promise that what is
acknowledged is synced. With `--against kafka` it is the control: the same play over Apache Kafka 4.4.0, on a disk with
a journal. Where the kernel refuses the file system, the simulated world is played instead, on its disk in memory, and
the table of `scripts/test` says so.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import count, islice
from pathlib import Path
from typing import cast

import pytest

from tests.simulation.checkers.moments import torn_moments
from tests.simulation.checkers.rules import CHECKERS
from tests.simulation.history.history import Finding, History
from tests.simulation.plans.swarm import plan_for
from tests.simulation.running.run import simulate
from tests.support.histories.play import Play
from tests.support.lossy.device import MountRefused
from tests.support.lossy.disk import LossyDisk
from tests.support.lossy.power import PowerCut
from tests.support.processes.planted import PlantedBroker
from tests.support.processes.server import Server

CUTS = 3
SIMULATED_SEEDS = 10  # where there is no such file system
SETTINGS: Mapping[str, object] = {
    "log.flush.interval.messages": 1,
    "log.retention.ms": -1,
    "log.index.size.max.bytes": 65536,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
}
NOT_TOLD = (torn_moments,)
"""Stock consumers do not tell which records came in one Fetch."""
KNOWN: dict[str, dict[str, str]] = {"barnabas": {}, "kafka": {}}
"""Rules that a broker is known to break, and where that is told."""
NewServer = Callable[[Path, Mapping[str, object]], Server]


def played(server: Server, disk: LossyDisk, seed: int) -> tuple[History, PowerCut]:
    """A play over the server, which is not started yet."""
    with server:
        power = PowerCut(server, disk, random.Random(f"{seed}/power"))
        play = Play(cast("Server", power), seed, kills=CUTS)
        play.notes.history.all_survives = False
        try:
            return play.run(), power
        except AssertionError as problem:
            raise AssertionError(f"--seed {seed}: {problem}\n{server.log[-8000:]}") from problem


def findings(history: History) -> list[Finding]:
    rules = [rule for rule in CHECKERS if rule not in NOT_TOLD]
    return [Finding(rule.__name__, text) for rule in rules for text in rule(history)]


def test_every_rule_is_kept(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    new_server: NewServer,
    seed: int,
    record_property: Callable[[str, object], None],
) -> None:
    against = request.config.getoption("--against")
    place = tmp_path / "disk"
    place.mkdir()
    try:
        with LossyDisk(place, seed, is_journaled=against == "kafka") as disk:
            history, power = played(new_server(place / "data", SETTINGS), disk, seed)
    except MountRefused as why:
        record_property("note", f"no power cuts under processes: {why}; on the simulation's disk in memory instead")
        assert simulated_findings(seed, SIMULATED_SEEDS) == []
        return
    record_property(
        "note", f"power cuts under a process, on a FUSE file system: {disk.cuts}; {disk.lost} changes lost or not"
    )
    assert disk.cuts == CUTS + power.cuts_at_starts
    assert disk.lost, "nothing could be lost"
    broken = [finding for finding in findings(history) if finding.rule not in KNOWN[against]]
    if broken:
        whole = tmp_path / "history.txt"
        whole.write_text("\n".join(history.lines()))
        pytest.fail(f"--seed {seed}: {broken[:20]}; the history is in {whole}")
    assert any(each.is_committed for each in history.transactions)
    assert any(each.offset > 0 for each in history.final_offsets)


def test_a_broker_that_answers_before_the_disk_does_is_found(tmp_path: Path, seed: int, lossy_disks: None) -> None:
    with LossyDisk(tmp_path, seed) as disk:
        bug = "no sync although one was asked for"
        history, _ = played(PlantedBroker(bug, disk.place / "data", SETTINGS), disk, seed)
    assert "lost_writes" in {finding.rule for finding in findings(history)}


def simulated_findings(seed: int, seeds: int) -> list[Finding]:
    """Of so many seeds whose machine loses its power while everything is to be synced."""
    plans = ((each, plan_for(each)) for each in count(seed))
    cut = ((each, plan) for each, plan in plans if plan.machine.survival != "everything" and plan.deaths)
    return [finding for each, plan in islice(cut, seeds) for finding in simulate(each, plan).findings]


def test_where_there_is_no_such_file_system_the_simulation_has_seeds_for_it(tmp_path: Path, seed: int) -> None:
    with pytest.raises(MountRefused, match="refuses to mount"), LossyDisk(tmp_path / "not there"):
        pass
    assert simulated_findings(seed, 1) == []
