"""Programs come and go at random and are killed, as are brokers; what has to be so in the end is checked."""

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from barnabas.client.client import Client
from tests.compat.chaos.ledger import Ledger
from tests.compat.chaos.members import Member
from tests.compat.chaos.play import Play
from tests.compat.chaos.programs import Command, Pipe, ProgramMember
from tests.compat.chaos.watches import CommitWatch, committed, shares, stored
from tests.support.waiting import until

KILLED = 0.4  # of those who end
TROUBLED = 0.5  # of the moves have a trouble before them
RESTING = 0.25  # of the moves: the next one waits for the rebalance to end
REBALANCE_ENDS_WITHIN_S = 120.0  # a session's timeout, and then some turns of clients on a slow machine


class Troubles(Protocol):
    """What happens to the brokers."""

    def happen(self, dice: random.Random) -> str:
        """One of them, and in words which."""

    def end(self) -> None:
        """Put right what would stay."""


@dataclass(frozen=True)
class Script:
    """What a play is to be. `partitions`: how many the topic has."""

    programs: Sequence[Command]
    protocol: str
    partitions: int
    seed: int
    moves: int
    session_timeout_ms: int
    is_static: bool = False


def play_programs(address: str, topic: str, script: Script, troubles: Troubles, directory: Path) -> Ledger:
    """As `play.play` does it, with a member of each of the programs, and with troubles between their moves."""
    commands = {program: program() for program in set(script.programs)}  # which may have to be compiled first
    pipe = Pipe(directory / "pipe")
    story = [f"--seed {script.seed}"]
    try:
        with Play(
            address,
            topic,
            [functools.partial(ProgramMember, commands[each], script.protocol, pipe) for each in script.programs],
            is_static=script.is_static,
            seed=script.seed,
            session_timeout_ms=script.session_timeout_ms,
        ) as playing:
            watch = CommitWatch(address, topic, playing.ledger, pipe.hear)
            try:
                _go_on(playing, script, troubles, story)
            finally:
                watch.end()
                story += playing.ledger.verdict()
            _check_the_end(playing, script.partitions)
            assert watch.answers > 0
        assert playing.ledger.verdict() == []
    except Exception as error:
        error.add_note("\n".join(story))
        raise
    finally:
        pipe.close()
    return playing.ledger


def _go_on(playing: Play, script: Script, troubles: Troubles, story: list[str]) -> None:
    dice = playing.dice

    def end(member: Member) -> None:
        assert isinstance(member, ProgramMember)
        if dice.random() < KILLED:
            story.append(f"killed {member.owner}")
            member.kill()
        else:
            story.append(f"{member.owner} left")
            member.leave()

    def rest() -> None:
        story.append("a rebalance is to end")
        until(lambda: playing.ledger.is_shared(playing.living.values(), script.partitions), REBALANCE_ENDS_WITHIN_S)

    playing.join(0)
    rest()  # so there is a coordinator, which can move
    troubled = dice.sample(range(script.moves), int(script.moves * TROUBLED))
    for number in range(script.moves):
        if number in troubled:
            story.append(troubles.happen(dice))
        were_there = set(playing.living)
        playing.move(end)
        story += [f"{playing.living[slot].owner} came" for slot in set(playing.living) - were_there]
        if playing.living and dice.random() < RESTING:
            rest()
    troubles.end()
    story.append("nobody writes")
    playing.read_to_the_end()
    rest()


def _check_the_end(playing: Play, partitions: int) -> None:
    """The broker says the same: what it stored, what is committed, who has what."""
    if playing.ledger.broken:
        return
    writer = playing.writer
    found = stored(playing.address, playing.topic)
    assert found == writer.acknowledged
    assert len(set(found.values())) == len(found), "something was stored twice"
    with Client(playing.address) as client:
        each = shares(client, playing.topic)
        assert len(each) == len(playing.living)
        assert all(each), each
        assert sorted(number for share in each for number in share) == [*range(partitions)]
        until(lambda: committed(client, playing.topic) == writer.ends, REBALANCE_ENDS_WITHIN_S)
