"""`scripts/demo`: orders, two jobs, kills, and a check that nothing was lost, doubled or half done.

One directory holds everything: the broker's data, the checkpoints, the log of each process, the audit's verdict, and a
report with charts. The exit status is the audit's: 0 right, 1 wrong, 2 undecided.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.clock import SystemClientClock
from pipeline.demo import kills
from pipeline.demo.kills import Victim
from pipeline.demo.notes import Notes
from pipeline.demo.processes import Supervised, broker_command, environment, kill_workers, port_of
from pipeline.demo.screen import Screen
from pipeline.demo.shop import Shop
from pipeline.demo.watching import WatchedJob, Watcher

TOPICS = {"orders.raw": 6, "orders.valid": 4, "orders.rejected": 2, "revenue.1m": 2}
STAGES = (
    WatchedJob("validate", "orders.raw", TOPICS["orders.raw"], "validate"),
    WatchedJob("aggregate", "orders.valid", TOPICS["orders.valid"], "aggregate"),
)
START_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class DemoSettings:
    """The duration, the load and the kills of a demo."""

    seed: int
    seconds: float
    kills: int
    rate: float
    directory: Path
    port: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo, from an empty directory to a verdict. Return the exit status."""
    settings = _parse(arguments)
    notes = Notes(settings.directory / "notes.jsonl")
    screen = Screen(notes)
    screen.say(f"all files are in {settings.directory}, seed {settings.seed}")
    programs = _programs(settings, notes)
    broker = programs[Victim.BROKER]
    broker.start()
    try:
        if not broker.wait_until_ready(START_TIMEOUT_S):
            screen.say(f"the broker did not start: see {settings.directory / 'broker.log'}")
            return 2
        screen.say(f"the broker is ready at {_address(broker)}")
        status = _story(settings, programs, notes, screen)
        broker.finish(by_signal=True)
        return status
    except KeyboardInterrupt:
        screen.say("stopped")
        return 130
    finally:
        for program in programs.values():
            program.give_up()
        notes.close()


def _programs(settings: DemoSettings, notes: Notes) -> dict[Victim, Supervised]:
    directory = settings.directory

    def serve() -> list[str]:
        return broker_command(directory / "data", port_of(broker.ready_line) if broker.ready_line else settings.port)

    def drive() -> list[str]:
        program = [sys.executable, "-m", "pipeline.demo.driver"]
        return [*program, "--bootstrap-servers", _address(broker), "--directory", str(directory)]

    broker = Supervised("broker", serve, notes, directory / "broker.log", "barnabas ready ")
    driver = Supervised("driver", drive, notes, directory / "driver.log", "driver ready")
    return {Victim.BROKER: broker, Victim.DRIVER: driver}


def _address(broker: Supervised) -> str:
    return f"127.0.0.1:{port_of(broker.ready_line)}"


def _parse(arguments: Sequence[str] | None) -> DemoSettings:
    parser = argparse.ArgumentParser(
        prog="scripts/demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a shorter run: about a minute in total")
    parser.add_argument("--seed", type=int, default=None, help="the seed for the orders and the kills")
    parser.add_argument("--seconds", type=float, default=None, help="how long orders are written (75; quick 12)")
    parser.add_argument("--kills", type=int, default=None, help="the number of kills (6; quick 3)")
    parser.add_argument("--rate", type=float, default=None, help="orders per second (2000; quick 1000)")
    parser.add_argument(
        "--directory", type=Path, default=None, help="a new directory for all files (default: a temporary one)"
    )
    parser.add_argument("--port", type=int, default=0, help="the broker's port (default: any that is free)")
    given = parser.parse_args(arguments)
    seconds, count, rate = (12.0, 3, 1000.0) if given.quick else (75.0, 6, 2000.0)
    directory = given.directory or Path(tempfile.mkdtemp(prefix="barnabas-demo-"))
    if given.directory is not None:
        if directory.exists() and any(directory.iterdir()):
            parser.error(f"{directory} is not empty: name a new directory")
        directory.mkdir(parents=True, exist_ok=True)
    return DemoSettings(
        seed=SystemClientClock().now_ms() % 1_000_000 if given.seed is None else given.seed,
        seconds=seconds if given.seconds is None else given.seconds,
        kills=count if given.kills is None else given.kills,
        rate=rate if given.rate is None else given.rate,
        directory=directory.resolve(),
        port=given.port,
    )


def _story(settings: DemoSettings, programs: dict[Victim, Supervised], notes: Notes, screen: Screen) -> int:
    bootstrap, driver = _address(programs[Victim.BROKER]), programs[Victim.DRIVER]
    with Client(bootstrap) as client:
        for topic, partitions in TOPICS.items():
            create_topic(client, topic, partitions=partitions)
    shop = Shop(bootstrap, "orders.raw", notes, seed=settings.seed, producers=2, rate=settings.rate)
    watcher = Watcher(bootstrap, STAGES, shop.tally, notes)
    watcher.start()
    shop.open()
    driver.start()
    screen.say("the shop is open; Spark is starting, which takes some time")
    if not driver.wait_until_ready(START_TIMEOUT_S):
        screen.say(f"Spark did not start: see {settings.directory / 'driver.log'}")
        return 2
    screen.say("both jobs are running")
    _let_it_run(settings, programs, shop, watcher, notes, screen)
    shop.close()
    screen.say(f"the shop is closed: {_counts(shop.tally.orders)}; the jobs read the rest")
    programs[Victim.BROKER].wait_until_ready(START_TIMEOUT_S)
    ended = driver.finish(by_signal=False)
    watcher.stop()
    screen.say("the jobs have ended" if ended == 0 else f"the jobs failed: exit status {ended}")
    return _conclude(settings, bootstrap, shop, screen)


def _let_it_run(
    settings: DemoSettings,
    programs: dict[Victim, Supervised],
    shop: Shop,
    watcher: Watcher,
    notes: Notes,
    screen: Screen,
) -> None:
    """Run the time in which orders are written and processes are killed."""
    driver, began = programs[Victim.DRIVER], notes.now_s()
    plan = kills.plan(settings.seed, settings.seconds, settings.kills)
    while (passed := notes.now_s() - began) < settings.seconds:
        while plan and plan[0].at_s <= passed:
            victim = plan.pop(0).victim
            if victim is Victim.WORKER:
                count = kill_workers(driver.pid) if driver.pid is not None else 0
                notes.write("kill", victim=victim, processes=count)
                screen.say(f"kill -9: {count} Python workers")
            else:
                notes.write("kill", victim=victim, processes=1)
                programs[victim].kill()
                screen.say(f"kill -9: the {victim}")
        screen.show(shop.tally.orders, watcher.lag)
        notes.clock.sleep(0.1)


def _conclude(settings: DemoSettings, bootstrap: str, shop: Shop, screen: Screen) -> int:
    """Run the audit, compare it with the shop's tally, and write the report. Return the exit status."""
    from pipeline.demo import report

    screen.say("the audit counts again")
    verdict = settings.directory / "verdict.json"
    program = [sys.executable, "-m", "pipeline.jobs.audit", "--bootstrap-servers", bootstrap]
    audit = subprocess.run(
        [*program, "--data-directory", str(settings.directory / "data"), "--report", str(verdict)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=(settings.directory / "audit.log").open("w"),
        text=True,
        env=environment(),
        check=False,
    )
    print(audit.stdout, flush=True)
    page = settings.directory / "report.html"
    page.write_text(report.page(settings.directory, settings.seed, shop.tally.orders))
    status = audit.returncode if report.acknowledged_are_there(settings.directory, shop.tally.orders) else 1
    screen.say(f"results of the producer: {_counts(shop.tally.orders)}")
    screen.say(f"report: {page}")
    screen.say(
        {0: "nothing lost, nothing doubled, nothing half done", 1: "SOMETHING IS WRONG"}.get(
            status, "the audit could not decide"
        )
    )
    return status


def _counts(orders: Counter[str]) -> str:
    return ", ".join(f"{count:,} orders {outcome}" for outcome, count in orders.items())


if __name__ == "__main__":
    sys.exit(main())
