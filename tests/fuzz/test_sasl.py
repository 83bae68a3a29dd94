"""Connections that have to say who they are, in every stage of SASL, and what nobody should say there.

A frame is derived from the seed (`--seed`, by default the day's), the stage and its number. The broker answers as Kafka
does or closes, lets nobody in who did not prove it, tells no secret, and serves the next client as ever.
"""

from random import Random

import pytest

from tests.support.fuzz.judge import Finding
from tests.support.fuzz.mutations import Sent
from tests.support.fuzz.sasl import FRAME_BYTES_MAX, OPENINGS, Opening, attempt, large_frames
from tests.support.fuzz.secured_arena import REAUTH_MS, SecuredArena
from tests.support.worlds.broker import settle
from tests.support.worlds.secured_broker import FAILURE_DELAY_MS

FRAMES = 80
WORLDS_LONG = 50
TRACE_EVERY = 5
every_stage = pytest.mark.parametrize("opening", OPENINGS, ids=lambda opening: opening.name.replace(" ", "_"))


async def feed(opening: Opening, seed: int, world: int, depth: str) -> None:
    """One world's frames."""
    rng = Random(f"{seed} SASL {opening.name} {world}")
    ends = opening.is_again or rng.random() < 0.5
    async with SecuredArena(rng, TRACE_EVERY, reauth_ms=REAUTH_MS if ends else 0) as arena:
        for number in range(FRAMES):
            arena.open(opening)
            sent = attempt(opening, arena.stage.facts, rng)
            try:
                await arena.play(sent)
            except Finding as finding:
                raise Finding(
                    f"frame {number} of world {world}, {sent.how} in pieces of {sent.step}: {finding}\n"
                    f"bytes: {sent.data[:1000].hex()}\n"
                    f"again: .venv/bin/python -m pytest tests/fuzz/test_sasl.py --seed {seed} -m '{depth}'"
                    f" -k '{opening.name.replace(' ', '_')}'"
                ) from finding


@every_stage
async def test_a_broken_frame_is_answered_or_closes_and_lets_nobody_in(opening: Opening, seed: int) -> None:
    await feed(opening, seed, 0, "not long")


@pytest.mark.long
@every_stage
async def test_seven_thousand_of_them(opening: Opening, seed: int) -> None:
    for world in range(1, WORLDS_LONG):
        await feed(opening, seed, world, "long")


@pytest.mark.parametrize(
    "opening", [each for each in OPENINGS if each.name.endswith("chosen")], ids=lambda each: each.name
)
async def test_a_full_frame_costs_little(opening: Opening) -> None:
    async with SecuredArena(Random(0), 1, reauth_ms=0) as arena:
        for number, frame in enumerate(large_frames()):
            arena.open(opening)
            try:
                await arena.play(Sent(f"large frame {number}", frame, 1 << 30))
            except Finding as finding:
                raise Finding(f"large frame {number}: {finding}") from finding


@every_stage
async def test_a_frame_that_claims_more_than_a_token_needs_ends_it(opening: Opening) -> None:
    async with SecuredArena(Random(0), 1, reauth_ms=REAUTH_MS) as arena:
        claiming = arena.open(opening)
        claiming.transport.send((FRAME_BYTES_MAX + 1).to_bytes(4, "big"))
        arena.world.clock.advance(FAILURE_DELAY_MS)
        await settle()
        assert claiming.is_closed is not (opening.is_let_in or opening.is_again)
        claiming.transport.hang_up()
        half = arena.open(opening)
        half.transport.send(FRAME_BYTES_MAX.to_bytes(4, "big") + bytes(1000))
        memories = arena.world.listener.frame_memory, arena.world.listener.strangers_memory
        assert sum(each.used_bytes for each in memories) <= 2000
        half.transport.hang_up()
        assert sum(each.used_bytes for each in memories) == 0
