"""The rules of the schema registry, over histories written by hand."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.simulation.checkers.schemas import changed_ids, lost_schemas, lost_versions, shared_ids
from tests.simulation.history.history import History
from tests.simulation.history.schemas import Registration, SchemaView, SubjectView

MADE = Registration("c0", "s", "A", 0, schema_id=1, version=1, answered_us=10)
MARKED = replace(MADE, deleting_us=20, deleted_us=30)
PURGED = replace(MARKED, purging_us=40, purged_us=50)


def seen(text: str | None, began_us: int = 60) -> SchemaView:
    return SchemaView("c1", 1, began_us, began_us + 1, text)


def versions(is_deleted: dict[int, bool], began_us: int = 60) -> SubjectView:
    return SubjectView("c1", "s", began_us, began_us + 1, is_deleted)


@pytest.mark.parametrize(
    ("rule", "registrations", "view", "is_broken"),
    [
        (lost_schemas, [MADE], seen("A"), False),
        (lost_schemas, [MADE], seen(None), True),
        (lost_schemas, [MADE], seen("B"), True),
        (lost_schemas, [MADE], seen(None, began_us=5), False),
        (lost_schemas, [MARKED], seen(None), True),
        (lost_schemas, [PURGED], seen(None), False),
        (lost_schemas, [PURGED], seen("B"), False),
        (lost_schemas, [PURGED], seen("A"), True),
        (lost_schemas, [PURGED], seen("A", began_us=45), False),
        (lost_versions, [MADE], versions({1: False}), False),
        (lost_versions, [MADE], versions({}), True),
        (lost_versions, [MADE], versions({1: True}), True),
        (lost_versions, [MARKED], versions({1: True}), False),
        (lost_versions, [MARKED], versions({1: False}), True),
        (lost_versions, [MARKED], versions({1: False}, began_us=25), False),
        (lost_versions, [PURGED], versions({}), False),
        (changed_ids, [replace(MADE, again=[(1, 1)])], None, False),
        (changed_ids, [replace(MADE, again=[(2, 1)])], None, True),
        (shared_ids, [MADE, replace(MADE, text="B", schema_id=2, version=2)], None, False),
        (shared_ids, [MADE, replace(MADE, text="B", schema_id=1, version=2)], None, True),
        (shared_ids, [MADE, replace(MADE, text="B", schema_id=2, version=1)], None, True),
        (shared_ids, [PURGED, replace(MADE, text="B", schema_id=1, version=2)], None, False),
    ],
)
def test_a_rule_is_broken_by_what_contradicts_an_acknowledgement(
    rule: Callable[[History], Iterator[str]],
    registrations: list[Registration],
    view: SchemaView | SubjectView | None,
    is_broken: bool,
) -> None:
    history = History()
    history.schemas.registrations += registrations
    if isinstance(view, SchemaView):
        history.schemas.views.append(view)
    elif view is not None:
        history.schemas.subjects.append(view)
    assert bool(list(rule(history))) is is_broken
