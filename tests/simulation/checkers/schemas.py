"""Rules about the schema registry: what was acknowledged keeps its id and its version until it is deleted."""

from collections.abc import Iterator
from itertools import combinations

from tests.simulation.history.history import History
from tests.simulation.history.schemas import Registration


def lost_schemas(history: History) -> Iterator[str]:
    """The id of an acknowledged registration stands for its schema until that is deleted for good."""
    known = [each for each in history.schemas.registrations if each.answered_us is not None]
    for view in history.schemas.views:
        for each in known:
            if each.schema_id != view.schema_id or not _is_within(each.answered_us, view.began_us):
                continue
            if (each.purging_us is None or each.purging_us > view.ended_us) and view.text != each.text:
                yield f"{view.line()}, though {each.line()}"
            if _is_within(each.purged_us, view.began_us) and view.text == each.text:
                yield f"{view.line()}, though {each.line()}"


def lost_versions(history: History) -> Iterator[str]:
    """A subject has each version that was acknowledged, and it is marked as deleted once its deletion was."""
    known = [each for each in history.schemas.registrations if each.answered_us is not None]
    for view in history.schemas.subjects:
        for each in known:
            if each.subject != view.subject or not _is_within(each.answered_us, view.began_us):
                continue
            is_deleted = view.is_deleted.get(each.version)
            is_purging = each.purging_us is not None and each.purging_us <= view.ended_us
            if is_deleted is None:
                if not is_purging:
                    yield f"{view.line()}, though {each.line()}"
            elif is_deleted and (each.deleting_us is None or each.deleting_us > view.ended_us):
                yield f"{view.line()}, though nobody deleted it: {each.line()}"
            elif not is_deleted and _is_within(each.deleted_us, view.began_us):
                yield f"{view.line()}, though it was deleted: {each.line()}"


def changed_ids(history: History) -> Iterator[str]:
    """A schema that is registered again has the id and the version that it had."""
    for each in history.schemas.registrations:
        for found in each.again:
            if found != (each.schema_id, each.version):
                yield f"{each.line()}, and then id {found[0]} version {found[1]}"


def shared_ids(history: History) -> Iterator[str]:
    """No two schemas have the same id, and none of a subject the same version, but for what is deleted for good."""
    kept = [each for each in history.schemas.registrations if each.answered_us and each.purging_us is None]
    for one, other in combinations(kept, 2):
        if one.schema_id == other.schema_id or _place(one) == _place(other):
            yield f"{one.line()}, and {other.line()}"


def _place(registration: Registration) -> tuple[str, int]:
    return registration.subject, registration.version


def _is_within(at_us: int | None, until_us: int) -> bool:
    return at_us is not None and at_us <= until_us


RULES = (lost_schemas, lost_versions, changed_ids, shared_ids)
