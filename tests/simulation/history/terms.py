"""What is true of a whole run, by which rules judge what took how long."""

from dataclasses import dataclass, field

_SLACK_US = 1_000_000  # latency, threads that take long, a start
_HASTY_SLICES_US = 5_000_000  # each is followed by a rest of a second
_LATE_SYNCS_US = 7_500_000  # of the state's record, of a marker, of what was before it
_SLOW_TRIPS_US = 8_000_000  # two seconds each: of the state's record to another node and back, of a marker likewise


@dataclass(slots=True)
class Terms:
    """Of one run. None of it changes, but for what is noted while it runs."""

    timeout_ms: int
    """Of transactions."""
    check_ms: int
    """How often the broker looks for transactions whose time is up."""
    network_is_slow: bool
    disk_fails: bool
    """Whether writes fail, or the disk is full at times: then what is due may have to wait for the disk."""
    syncs_are_late: bool = False
    """Whether a sync may be answered seconds after it was done."""
    nodes: int = 1
    failure_delay_ms: int = 0
    """How long a connection whose login failed, or whose session is over, is kept before it is closed."""
    slices_are_hasty: bool = False
    """Whether work in slices rests for a second now and then."""
    boots_us: list[int] = field(default_factory=list)
    """When a run of the broker or of a node began, a full disk had room, or an unloaded coordinator is tried again."""

    def aborted_by_us(self, begun_us: int, now_us: int) -> int:
        """By when a transaction is aborted that nobody ended, as far as can be said now: its broker has to be up."""
        began_us = max((each for each in self.boots_us if each <= now_us), default=0)
        slack_us = _SLACK_US
        slack_us += _LATE_SYNCS_US if self.syncs_are_late else 0
        slack_us += _SLOW_TRIPS_US if self.network_is_slow and self.nodes > 1 else 0
        slack_us += _HASTY_SLICES_US if self.slices_are_hasty else 0
        return max(begun_us + self.timeout_ms * 1000, began_us) + self.check_ms * 1000 + slack_us
