"""Members of a share group come and go at random, from one seed, while brokers have troubles."""

import random
from dataclasses import dataclass

from barnabas.client.admin.share_offsets import share_offsets
from barnabas.client.client import Client
from tests.compat.chaos.play import Writer
from tests.compat.chaos.program_play import TROUBLED, Troubles
from tests.compat.chaos.share_ledger import ShareLedger
from tests.compat.chaos.share_members import ShareChaosMember
from tests.support.clients.queues import FROM_THE_FIRST, set_of_group
from tests.support.waiting import PATIENCE_S, until

_WRITER_PAUSE_S = 0.1
_DELIVERIES_BETWEEN = 40
"""So many records come to members between two moves, so that each move meets records in flight."""


@dataclass(frozen=True)
class ShareScript:
    """How many members and moves a play has, and the settings of its group."""

    members: int
    moves: int
    seed: int
    delivery_count_limit: int


class _SharePlay:
    """One share group, named after its topic."""

    def __init__(self, address: str, topic: str, script: ShareScript, troubles: Troubles) -> None:
        self._address, self._topic, self._script, self._troubles = address, topic, script, troubles
        self._dice = random.Random(script.seed)
        self._living: dict[int, ShareChaosMember] = {}
        self._lives = 0
        self.ledger = ShareLedger(script.delivery_count_limit)
        self.story = [f"--seed {script.seed}"]

    def play(self) -> None:
        """Move by move; then all members come, and together they finish all records."""
        writer = Writer(self._address, self._topic, _WRITER_PAUSE_S)
        try:
            self._join(0)
            for _ in range(self._script.moves):
                self._wait_for_deliveries()
                if self._dice.random() < TROUBLED:
                    self.story.append(self._troubles.happen(self._dice))
                self._move()
            self._troubles.end()
            ends = writer.end()
            self.story.append("all is written")
            for slot in set(range(self._script.members)) - set(self._living):
                self._join(slot)
            until(self._is_finished, PATIENCE_S)
        finally:
            writer.end()
            for member in self._living.values():
                member.leave()
        verdict = self.ledger.verdict(ends)
        assert not verdict, "\n".join(verdict)

    def _move(self) -> None:
        slot = self._dice.randrange(self._script.members)
        member = self._living.get(slot)
        if member is None:
            self._join(slot)
            return
        if member.is_stalled:  # it ends that itself, late: after others were given its records
            return
        match self._dice.choice(("leave", "kill", "stall")):
            case "stall" if not any(each.is_stalled for each in self._living.values()):  # others take its records
                self.story.append(f"{member.owner} stalls")
                member.stall()
            case how:
                self.story.append(f"{member.owner}: {how}")
                del self._living[slot]
                member.kill() if how == "kill" else member.leave()

    def _join(self, slot: int) -> None:
        self._lives += 1
        owner = f"{slot} (life {self._lives})"
        self.story.append(f"{owner} comes")
        seed = self._dice.getrandbits(32)
        self._living[slot] = ShareChaosMember(self._address, self._topic, owner, self.ledger, seed)

    def _wait_for_deliveries(self) -> None:
        before = self.ledger.deliveries
        if not all(each.is_stalled for each in self._living.values()):
            until(lambda: self.ledger.broken or self.ledger.deliveries >= before + _DELIVERIES_BETWEEN, PATIENCE_S)

    def _is_finished(self) -> bool:
        """Whether the broker has nothing left for the group, or something is broken already."""
        with Client(self._address) as client:
            lags = [each.lag for each in share_offsets(client, self._topic).values()]
        return bool(self.ledger.broken) or set(lags) == {0}


def set_up_group(address: str, group: str, delivery_count_limit: int) -> None:
    """Have the group begin with the first record of its topic."""
    settings = FROM_THE_FIRST | {"share.delivery.count.limit": str(delivery_count_limit)}
    with Client(address) as client:
        set_of_group(client, group, settings)


def play_share_group(address: str, topic: str, script: ShareScript, troubles: Troubles) -> ShareLedger:
    """Play it with a group that is new, over a topic that exists and is empty."""
    set_up_group(address, topic, script.delivery_count_limit)
    playing = _SharePlay(address, topic, script, troubles)
    try:
        playing.play()
    except Exception as error:
        error.add_note("\n".join(playing.story))
        raise
    return playing.ledger
