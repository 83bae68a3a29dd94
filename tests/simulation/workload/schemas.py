"""The program of a client of the schema registry, in subjects of its own."""

import asyncio
import random
from collections.abc import Callable, Sequence

from tests.simulation.clients.registrar import Registrar, schema_text
from tests.simulation.history.schemas import Registration

_STEPS = ("register",) * 4 + ("again", "look", "look at subject", "delete", "purge")


async def registering(
    registrar: Registrar, subjects: Sequence[str], dice: random.Random, is_over: Callable[[], bool]
) -> None:
    """One step after the other."""
    made: list[Registration] = []
    while not is_over():
        await _step(registrar, subjects, made, dice)
        await asyncio.sleep(dice.choice([0.0, 0.05, 0.3]))


async def _step(registrar: Registrar, subjects: Sequence[str], made: list[Registration], dice: random.Random) -> None:
    kind = dice.choice(_STEPS)
    subject = dice.choice(subjects)
    if kind == "register" or not made:
        made.append(await registrar.register(subject, schema_text(f"{subject}_{len(made)}")))
    elif kind == "look at subject":
        await registrar.look_at(subject)
    elif kind == "look":
        await registrar.look_at_id(dice.choice(made).schema_id)
    else:
        await _change(registrar, kind, made, dice)


async def _change(registrar: Registrar, kind: str, made: list[Registration], dice: random.Random) -> None:
    """Of one that may still be changed: the newest of a subject is not purged, as its number would be free again."""
    newest = {each.subject: each for each in made}.values()
    kept = [each for each in made if each.deleting_us is None]
    choices = {
        "again": kept,
        "delete": [each for each in kept if each.tries == 1],
        "purge": [each for each in made if each.deleted_us and not each.purging_us and each not in newest],
    }[kind]
    if choices:
        chosen = dice.choice(choices)
        await {"again": registrar.register_again, "delete": registrar.delete, "purge": registrar.purge}[kind](chosen)
