"""Bugs of the schema registry."""

from tests.simulation.planted.planting import Bug

_SEEDS = 100


def _bug(name: str, says: str) -> Bug:
    return Bug(name, says, seeds=_SEEDS, needs="registrars")


BUGS = (
    _bug("schemas not read at the start", "The registry is empty after a restart.").at(
        "SchemasTopic.is_applied", "self._topic.extent(0)[1] == self._position", "True"
    ),
    _bug("id used again after a deletion", "A schema gets the id of another one, once a version was deleted.").at(
        "ContextIndex.remove",
        "del self._versions_by_id[schema.schema_id]",
        "del self._versions_by_id[schema.schema_id]\nself.max_id -= 1",
    ),
)
