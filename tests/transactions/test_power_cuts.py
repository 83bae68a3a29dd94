"""What stock clients are told by a broker whose machine loses its power again and again, judged by the rules.

The broker is a process, its disk a file system that loses what was not synced, its settings promise that what is
acknowledged is synced. With `--against kafka` it is the control: the same play over Apache Kafka 4.4.0, on a disk with
a journal, without which it loses whole partitions. Where the kernel refuses the file system, the simulated world is
played instead, on its disk in memory, and the table of `scripts/test` says so.
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.simulation.history.history import History
from tests.support.clients.topics import committed, send
from tests.support.histories.play import Play
from tests.support.lossy.device import MountRefused
from tests.support.lossy.disk import LossyDisk
from tests.support.lossy.power import PowerCut
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.planted import PlantedBroker
from tests.support.processes.server import ROOT, Server
from tests.transactions.test_histories import CLIENTS, KNOWN, findings
from tests.transactions.test_histories import SETTINGS as KILLED

DEATHS = 3
SIMULATED_SEEDS = 20
"""Where there is no such file system."""
SETTINGS: Mapping[str, object] = KILLED | {
    "log.flush.interval.messages": 1,
    "log.index.size.max.bytes": 65536,  # Kafka's would be 10 MB of zeros each, in memory
}
UNSYNCED = "sync before the answer omitted"
RECORDS = [b"%d" % number for number in range(20)]
NewServer = Callable[[Path, Mapping[str, object]], Server]


@pytest.fixture
def disk(tmp_path: Path, seed: int) -> Iterator[LossyDisk]:
    """One without a journal."""
    with ExitStack() as stack:
        try:
            disk = stack.enter_context(LossyDisk(tmp_path, seed))
        except MountRefused as why:
            pytest.skip(str(why))
        yield disk


def played(server: Server, client: str, disk: LossyDisk, seed: int) -> tuple[History, PowerCut]:
    """A play over the server, which is not started yet."""
    with server:
        playing = CLIENTS[client](server.address)
        power = PowerCut(server, disk, random.Random(f"{seed}/power"))
        try:
            return Play(server, playing, seed, deaths=DEATHS, death=power).run(), power
        except AssertionError as problem:
            raise AssertionError(f"--seed {seed}: {problem}\n{server.log[-8000:]}") from problem
        finally:
            playing.close()


@pytest.mark.parametrize(
    "client", [pytest.param(name, marks=[] if name == "librdkafka" else [pytest.mark.long]) for name in CLIENTS]
)
def test_every_rule_is_kept(
    client: str, request: pytest.FixtureRequest, tmp_path: Path, new_server: NewServer, seed: int
) -> None:
    against, notes = request.config.getoption("--against"), request.node.user_properties
    place = tmp_path / "disk"
    place.mkdir()
    try:
        with LossyDisk(place, seed, is_journaled=against == "kafka") as disk:
            history, power = played(new_server(place, SETTINGS), client, disk, seed)
    except MountRefused as why:
        notes.append(("note", f"{client}: no power cuts under a process ({why}); on the disk in memory instead"))
        assert simulated(SIMULATED_SEEDS) == ""
        return
    where = f"{power.cuts_at_calls} before a change that was drawn, {power.cuts_at_starts} at a start"
    notes.append(("note", f"{client}: {disk.cuts} power cuts under a process, {where}; {disk.lost} changes not synced"))
    assert disk.cuts == DEATHS + power.cuts_at_starts
    assert disk.lost, "nothing could be lost"
    broken = [finding for finding in findings(history, client) if finding.rule not in KNOWN[against]]
    if broken:
        whole = tmp_path / "history.txt"
        whole.write_text("\n".join(history.lines()))
        pytest.fail(f"--seed {seed}: {broken[:20]}; the history is in {whole}")
    assert any(each.is_committed for each in history.transactions)
    assert any(each.offset > 0 for each in history.final_offsets)


@pytest.mark.long
def test_the_rules_find_a_broker_that_answers_before_the_disk_does(disk: LossyDisk, seed: int) -> None:
    history, _ = played(PlantedBroker(UNSYNCED, disk.place / "data", SETTINGS), "librdkafka", disk, seed)
    assert "lost_writes" in {finding.rule for finding in findings(history, "librdkafka")}


def test_a_power_cut_takes_what_was_answered_too_early_and_nothing_else(disk: LossyDisk) -> None:
    with BrokerProcess(disk.place / "sound", SETTINGS) as sound:
        assert left_of_answered(sound, disk) == RECORDS
    with PlantedBroker(UNSYNCED, disk.place / "unsound", SETTINGS) as unsound:
        assert left_of_answered(unsound, disk) == []


def left_of_answered(server: Server, disk: LossyDisk) -> list[bytes]:
    """What is there, after a power cut, of RECORDS that were acknowledged before it."""
    send(server.address, "answered", RECORDS)
    os.kill(server.pid, signal.SIGKILL)
    disk.cut_power("nothing")
    server.kill()
    server.start()
    return [record.value for record in committed(server.address, "answered")]


def test_where_there_is_no_such_file_system_the_simulation_is_played(tmp_path: Path) -> None:
    with pytest.raises(MountRefused, match="refuses to mount"), LossyDisk(tmp_path / "not there"):
        pass
    assert simulated(1) == ""


def simulated(seeds: int) -> str:
    """What the first seeds find, each with about half of all misfortunes. In the pure form, as the simulation is."""
    command = ["env", "BARNABAS_FORM=pure", sys.executable, "-m", "tests.simulation", "--seeds", f"1-{seeds}"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"{seeds} seeds in" in told.stdout, told.stderr
    return told.stdout if told.returncode else ""
