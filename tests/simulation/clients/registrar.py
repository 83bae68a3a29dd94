"""A client of the schema registry: registers, deletes and looks up, and asks again what was not answered.

A try that was lost may arrive long after the next one, so what was sent more than once is not deleted: it would come
back. AssertionError if it is told what cannot be.
"""

import asyncio
import json
import random
from typing import Any

from tests.simulation.clients.rest import Rest
from tests.simulation.clients.wire import Disconnected
from tests.simulation.history.schemas import Registration, SchemaHistory, SchemaView, SubjectView
from tests.simulation.world.world import World

_BACKOFF_S = 0.05
_OK, _NOT_FOUND, _FAILED = 200, 404, 500


class Registrar:
    """Does one thing after the other."""

    def __init__(self, world: World, rest: Rest, history: SchemaHistory, client: str, dice: random.Random) -> None:
        self._world, self._rest, self._history, self._client, self._dice = world, rest, history, client, dice

    async def register(self, subject: str, text: str) -> Registration:
        """A schema that nobody has registered yet."""
        made = Registration(self._client, subject, text, self._world.now_us)
        self._history.registrations.append(made)
        (made.schema_id, made.version), made.tries = await self._registered(made)
        made.answered_us = self._world.now_us
        return made

    async def register_again(self, made: Registration) -> None:
        """One that is there."""
        found, tries = await self._registered(made)
        made.tries += tries
        made.again.append(found)

    async def _registered(self, made: Registration) -> tuple[tuple[int, int], int]:
        path = f"/subjects/{made.subject}/versions"
        (status, answer), tries = await self._until_answered("POST", path, {"schema": made.text})
        assert status == _OK, f"{made.line()}: {status} {answer}"
        return (answer["id"], answer["version"]), tries

    async def delete(self, made: Registration) -> None:
        """Mark its version as deleted."""
        made.deleting_us = self._world.now_us
        await self._deleted(made, "")
        made.deleted_us = self._world.now_us

    async def purge(self, made: Registration) -> None:
        """Delete for good what is marked as deleted."""
        made.purging_us = self._world.now_us
        await self._deleted(made, "?permanent=true")
        made.purged_us = self._world.now_us

    async def _deleted(self, made: Registration, query: str) -> None:
        path = f"/subjects/{made.subject}/versions/{made.version}{query}"
        (status, answer), tries = await self._until_answered("DELETE", path)
        is_done = status == _OK or (status == _NOT_FOUND and tries > 1)
        assert is_done, f"{made.line()}: {status} {answer} to DELETE{query}"

    async def look_at_id(self, schema_id: int) -> None:
        """What stands for it; into the history."""
        began_us = self._world.now_us
        (status, answer), _ = await self._until_answered("GET", f"/schemas/ids/{schema_id}")
        assert status in (_OK, _NOT_FOUND), f"{status} {answer}"
        text = answer["schema"] if status == _OK else None
        self._history.views.append(SchemaView(self._client, schema_id, began_us, self._world.now_us, text))

    async def look_at(self, subject: str) -> None:
        """Its versions; into the history."""
        began_us = self._world.now_us
        path = f"/subjects/{subject}/versions?deletedAsNegative=true&deleted=true"
        (status, answer), _ = await self._until_answered("GET", path)
        assert status in (_OK, _NOT_FOUND), f"{status} {answer}"
        versions = {abs(number): number < 0 for number in (answer if status == _OK else ())}
        self._history.subjects.append(SubjectView(self._client, subject, began_us, self._world.now_us, versions))

    async def _until_answered(self, method: str, path: str, body: Any = None) -> tuple[tuple[int, Any], int]:
        """The answer that is no failure of the server, and how many times it was asked for."""
        tries = 0
        while True:
            tries += 1
            try:
                status, answer = await self._rest.ask(method, path, body)
                if status < _FAILED:
                    return (status, answer), tries
            except Disconnected:
                pass  # because it is asked again, like what failed
            await asyncio.sleep(_BACKOFF_S * self._dice.uniform(0.5, 2))


def schema_text(name: str) -> str:
    """A schema that is compatible with all others of its kind."""
    fields = [{"name": name, "type": "int", "default": 0}]
    return json.dumps({"type": "record", "name": "R", "fields": fields}, separators=(",", ":"))
