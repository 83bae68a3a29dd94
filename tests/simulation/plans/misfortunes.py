"""What befalls the broker: deaths, and how it comes up again. `heal` ends them."""

from collections.abc import Callable

from tests.simulation.plans.disk_faults import DiskFaults
from tests.simulation.plans.plan import Plan
from tests.simulation.world.machine import Machine
from tests.simulation.world.network import Network, Weather
from tests.simulation.world.process import LATE_MS
from tests.simulation.world.world import StandsStill, World

_START_LIMIT_US = 60_000_000
_DOWN_MS_MAX = 1_500
_CHANGES_MAX = 60  # of the disk, until a death at one of them
_TURNS_MAX = 30  # until a death between two of them
_AGAIN = 0.3  # how probable it is that the next run dies soon, too
_FULL_MS_MAX = 2_000
WRITTEN_TO = "/output-"
_LOOK_US = 10_000
_STARTS_MAX = 3  # when all is healed


class Misfortunes:
    """Of one machine, as a plan has them."""

    def __init__(
        self, world: World, network: Network, machine: Machine, plan: Plan, note: Callable[[str], None]
    ) -> None:
        """note: is told what happens."""
        self._world, self._network, self._machine, self._plan, self._note = world, network, machine, plan, note
        self._dice = world.dice("misfortunes")
        self._disk_faults = DiskFaults(world, machine, plan, note)
        self._cuts = list(plan.cuts)
        self._are_over = False

    def begin(self) -> None:
        """Let everything that is planned happen from now on."""
        self._network.weather = self._plan.weather
        self._cut_next()
        for at_ms in sorted(self._dice.randrange(self._plan.length_ms) for _ in range(self._plan.deaths)):
            self._world.later(at_ms * 1000, self._die)
        for times, strike in (
            (self._plan.disk_errors, self._fail_writes),
            (self._plan.full_disks, self._fill_disk),
            (self._plan.clock_jumps, self._jump),
        ):
            for _ in range(times):
                self._world.later(self._dice.randrange(self._plan.length_ms) * 1000, strike)
        self._disk_faults.begin()
        self._watch()

    def heal(self) -> None:
        """No misfortune from now on; a broker that is up."""
        self._are_over = True
        self._disk_faults.end()
        self._network.weather = Weather()
        self._machine.disk.heal()
        self._machine.disk.cut_power_at(None)
        self._machine.be_quick()
        if self._machine.process is not None:
            self._machine.process.live_on()
        if self._plan.machine.late_jobs:
            self._world.run_for(LATE_MS)  # what failed before now may be heard of only then
        if self._machine.is_offline:
            self._machine.kill()
        starts = 0
        while not self._machine.is_up:
            if self._machine.process is None:
                starts += 1
                if starts > _STARTS_MAX:
                    raise StandsStill("nothing is wrong any more, and the broker does not start")
                self.boot()
            else:
                self._world.run_until(self._is_up_or_dead, _START_LIMIT_US)
        self._note("healed")

    def boot(self) -> None:
        """A run of the broker, until it is up or dead."""
        self._note(f"boot {self._machine.boots + 1}")
        self._machine.boot()
        self._world.run_until(self._is_up_or_dead, _START_LIMIT_US)

    def _is_up_or_dead(self) -> bool:
        return self._machine.is_up or self._machine.process is None

    def _die(self) -> None:
        process = self._machine.process
        if process is None or self._are_over:
            return
        if self._plan.at_disk_calls:
            self._machine.die_at_change(self._dice.randrange(_CHANGES_MAX))
        else:
            process.die_in_turns(1 + self._dice.randrange(_TURNS_MAX))

    def _cut_next(self) -> None:
        if self._cuts:
            self._machine.die_at_change(self._cuts.pop(0))

    def _fail_writes(self) -> None:
        """The next write to a log of the clients' partitions fails, or the next few."""
        if not self._are_over:
            times = self._dice.choice([1, 1, 3])
            self._note(f"{times} writes fail")
            self._machine.disk.fail("pwrite", path=WRITTEN_TO, skip=self._dice.randrange(4), times=times)

    def _fill_disk(self) -> None:
        """There is hardly any room for a while."""
        if not self._are_over:
            self._note("the disk is full")
            self._machine.disk.capacity = self._machine.disk.used() + self._dice.randrange(3_000)
            self._world.later(self._dice.randrange(_FULL_MS_MAX) * 1000, self._make_room)

    def _make_room(self) -> None:
        self._note("the disk has room")
        self._machine.disk.capacity = None
        self._machine.boots_us.append(self._world.now_us)  # what could not be written is tried again

    def _jump(self) -> None:
        """The wall clock goes ahead, by seconds or by hours."""
        if not self._are_over:
            jump_ms = self._dice.choice([400, 5_000, 3_600_000])
            self._note(f"the clock jumps by {jump_ms} ms")
            self._machine.clock_offset_ms += jump_ms

    def _watch(self) -> None:
        """Whoever dies is noticed, and started again after a while."""
        if self._are_over:
            return
        if self._machine.process is None:
            self._note(f"death {self._machine.deaths}")
            self._world.later(self._dice.randrange(_DOWN_MS_MAX) * 1000, self._boot_again)
        else:
            if self._machine.is_offline:
                self._note("the data directory is offline, the broker is killed")
                self._machine.kill()
            self._world.later(_LOOK_US, self._watch)

    def _boot_again(self) -> None:
        if self._are_over:
            return
        self._note(f"boot {self._machine.boots + 1}")
        self._machine.boot()
        self._cut_next()
        if self._plan.at_disk_calls and self._dice.random() < _AGAIN:
            self._machine.die_at_change(self._dice.randrange(_CHANGES_MAX))
        self._watch()
