"""One run: a world from a seed, clients and misfortunes in it, and what the checkers say when all is over."""

import traceback
from pathlib import Path

from tests.simulation.cast.cast import Cast
from tests.simulation.checkers.broker.leftovers import leftovers
from tests.simulation.checkers.broker.whys import false_fates, false_sentences
from tests.simulation.checkers.rules import check, check_files
from tests.simulation.history.history import Event, Finding, History
from tests.simulation.history.terms import Terms
from tests.simulation.plans.misfortunes import Misfortunes
from tests.simulation.plans.plan import Plan
from tests.simulation.plans.swarm import SYNCED, plan_for
from tests.simulation.running.hearing import listening
from tests.simulation.running.picture import picture
from tests.simulation.running.result import Result
from tests.simulation.world.machine import Machine
from tests.simulation.world.network import Network
from tests.simulation.world.world import StandsStill, TakesTooLong, World

_FINISH_LIMIT_US = 120_000_000
_AFTER_TIMEOUTS_MS = 2_000  # and the time until the broker looks for them
_VISIT_MS = 50
_QUESTIONS = 5
_LEAVING_MS = 1_500
_LOOKS_AT_OBJECTS = 0.3
_LETTERS_MS = 16_000  # in which a dead letter is written, or lost
_SETTLING_MS = 16_000  # what was sent long ago arrives, sessions are over, and rebalances


def simulate(seed: int, plan: Plan | None = None) -> Result:
    """The run of a seed; by another plan than its own if one is given."""
    return Run(seed, plan or plan_for(seed)).run()


class Run:
    """The world of one run, and its story."""

    def __init__(self, seed: int, plan: Plan) -> None:
        self._seed, self._plan = seed, plan
        self._world = World(seed)
        self._history = History()
        # 0122: a transaction shows where its markers are if their sync finds no room, or at a start the others do not.
        shows_when_full = plan.full_disks > 0 and (plan.deaths > 0 or SYNCED.items() <= plan.machine.broker.items())
        self._history.disk_fails = plan.disk_errors > 0 or plan.failing_calls > 0 or shows_when_full
        self._history.nodes = plan.machine.nodes
        if plan.machine.nodes > 1:
            self._history.shares.leaders = self._history.leaders
        self._history.lacks_replicas = plan.machine.nodes > 1
        self._history.clock_jumps = plan.clock_jumps
        self._history.rests_long = plan.machine.hasty_slices > 0
        self._history.all_survives = plan.machine.survival == "everything"
        self._network = Network(self._world)
        self._machine = Machine(self._world, self._network, plan.machine, has_registry=plan.registrars > 0)
        self._history.terms = Terms(
            timeout_ms=plan.timeout_ms,
            check_ms=plan.producing.check_ms,
            network_is_slow=plan.weather.slow > 0,
            disk_fails=plan.disk_errors + plan.full_disks + plan.failing_calls > 0,
            syncs_are_late=plan.machine.late_jobs > 0,
            nodes=plan.machine.nodes,
            failure_delay_ms=plan.security.failure_delay_ms if plan.secured else 0,
            slices_are_hasty=plan.machine.hasty_slices > 0,
            boots_us=self._machine.boots_us,
        )
        self._misfortunes = Misfortunes(self._world, self._network, self._machine, plan, self._note)
        self._cast = Cast(self._world, self._network, self._machine, self._history, plan)
        self._is_over = self._is_settled = False
        self._leftovers: list[Finding] = []
        self._changes = 0

    def run(self) -> Result:
        """Live through it. What goes wrong is in the findings."""
        result = Result(self._seed, self._plan, self._history)
        with listening(self._machine):
            try:
                self._live()
            except (StandsStill, TakesTooLong) as error:
                shown = picture(self._world, self._machine, self._cast.wires)
                result.findings.append(Finding("liveness", f"{type(error).__name__}: {error}; {shown}"))
            except Exception as error:
                result.findings.append(Finding("exception", _where(error)))
            finally:
                self._cast.end()
            result.findings += [Finding("exception", text) for text in self._world.failures]
            if not result.findings:
                result.findings += check(self._history)
                result.findings += self._leftovers
                result.findings += check_files(self._machine.disk, self._history)
            self._world.end()
        result.deaths, result.cuts, result.turns = self._machine.deaths, self._network.cuts, self._world.turns
        result.changes = self._changes
        result.simulated_ms = self._world.now_ms()
        return result

    def _live(self) -> None:
        world = self._world
        self._misfortunes.boot()
        creating = self._cast.create_topics()
        world.run_until(creating.done, _FINISH_LIMIT_US)
        creating.result()
        clients = self._cast.start(lambda: self._is_over, lambda: self._is_settled)
        self._misfortunes.begin()
        before = self._machine.disk.changes_made
        for _ in range(_QUESTIONS):
            world.run_for(self._plan.length_ms // _QUESTIONS)
            self._ask_why()
        world.run_for(self._plan.length_ms % _QUESTIONS)
        self._changes = self._machine.disk.changes_made - before
        self._misfortunes.heal()
        self._is_over = True
        if self._cast.groups.is_there:
            world.run_for(_SETTLING_MS)
        self._is_settled = True
        world.run_until(lambda: all(client.done() for client in clients), _FINISH_LIMIT_US)
        for client in clients:
            client.result()
        world.run_for(self._plan.timeout_ms + self._plan.producing.check_ms + _AFTER_TIMEOUTS_MS)
        reading = self._cast.read_all()
        world.run_until(reading.done, _FINISH_LIMIT_US)
        reading.result()
        self._let_catch_up()
        self._ask_why()
        if self._machine.broker is not None:
            fates = false_fates(self._machine.broker, self._history)
            self._leftovers += [Finding("false_fates", text) for text in fates]
        self._kill_clients()
        deaths = self._machine.deaths
        self._stop()
        if self._machine.deaths > deaths:
            # What had failed before kept it from a clean stop. The next start puts it right.
            self._misfortunes.boot()
            self._stop()
            assert self._machine.deaths == deaths + 1, "it cannot be stopped cleanly"

    def _stop(self) -> None:
        self._machine.stop()
        self._world.run_until(lambda: self._machine.process is None, _FINISH_LIMIT_US)

    def _let_catch_up(self) -> None:
        tasks = self._cast.catch_up()
        self._world.run_until(lambda: all(task.done() for task in tasks), _FINISH_LIMIT_US)
        for task in tasks:
            task.result()
        if self._plan.sharers:
            self._world.run_for(_LETTERS_MS)
            reading = self._cast.read_letters()
            self._world.run_until(reading.done, _FINISH_LIMIT_US)
            reading.result()

    def _ask_why(self) -> None:
        """What the broker says of its groups, if it runs, and the findings it is judged by."""
        broker, process = self._machine.broker, self._machine.process
        if broker is not None and process is not None and self._machine.is_up:
            found = list(false_sentences(broker))
            self._leftovers += [Finding("false_sentences", text) for text in found]

    def _kill_clients(self) -> None:
        """All clients die, and what the broker has left of them is in the findings."""
        world, machine = self._world, self._machine
        self._cast.visit()
        world.run_for(_VISIT_MS)
        broker, process = machine.broker, machine.process
        assert broker is not None
        assert process is not None
        for each in list(world.processes):
            if each is not process:
                each.kill()
        world.run_for(_LEAVING_MS)
        looks = world.dice("leftovers").random() < _LOOKS_AT_OBJECTS
        found = leftovers(broker, machine.disk, process.loop, looks_at_objects=looks)
        self._leftovers += [Finding("leftovers", text) for text in found]

    def _note(self, text: str) -> None:
        self._history.events.append(Event(text, self._world.now_us))


def _where(error: Exception) -> str:
    """What it says, and from where it comes."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r} in {Path(last.filename).name}:{last.lineno}"
