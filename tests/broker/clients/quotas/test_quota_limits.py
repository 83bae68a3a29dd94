"""Which quota is whose: every combination of quotas that there may be, against Kafka's order written down as a list."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.clients.quotas.quota_limits import Entity, EntityPart, QuotaLimits, Sharing

_DEFAULT = EntityPart.DEFAULT
_ORDER = (
    Entity("alice", "app"),
    Entity("alice", _DEFAULT),
    Entity("alice"),
    Entity(_DEFAULT, "app"),
    Entity(_DEFAULT, _DEFAULT),
    Entity(_DEFAULT),
    Entity(client_id="app"),
    Entity(client_id=_DEFAULT),
)
_OTHERS = (Entity("bob"), Entity("bob", "app"), Entity(client_id="other"))


@pytest.mark.parametrize("there", list(product((False, True), repeat=len(_ORDER))))
def test_the_first_in_kafkas_order_is_in_force(there: tuple[bool, ...]) -> None:
    limits = QuotaLimits()
    for number, (entity, is_there) in enumerate(zip(_ORDER, there, strict=True)):
        if is_there:
            limits.set(entity, 100.0 + number)
    expected = next((100.0 + number for number, is_there in enumerate(there) if is_there), None)
    assert limits.limit(limits.sharing("alice", "app")) == expected
    assert bool(limits) is any(there)


@given(st.lists(st.tuples(st.sampled_from(_ORDER + _OTHERS), st.none() | st.floats(1, 1e9)), max_size=30))
def test_the_last_setting_wins(changes: list[tuple[Entity, float | None]]) -> None:
    limits, model = QuotaLimits(), dict[Entity, float]()
    for entity, limit in changes:
        limits.set(entity, limit)
        if limit is None:
            model.pop(entity, None)
        else:
            model[entity] = limit
    found = next((model[entity] for entity in _ORDER if entity in model), None)
    assert limits.limit(limits.sharing("alice", "app")) == found


@pytest.mark.parametrize(
    ("entity", "sharing"),
    [
        (Entity("alice"), Sharing("alice", "")),
        (Entity(_DEFAULT), Sharing("alice", "")),
        (Entity("alice", "app"), Sharing("alice", "app")),
        (Entity(_DEFAULT, _DEFAULT), Sharing("alice", "app")),
        (Entity(client_id="app"), Sharing("", "app")),
        (Entity(client_id=_DEFAULT), Sharing("", "app")),
    ],
)
def test_clients_share_what_their_quota_names(entity: Entity, sharing: Sharing) -> None:
    alone = QuotaLimits()
    alone.set(entity, 1)
    assert alone.sharing("alice", "app") == sharing
    among_others = QuotaLimits()
    among_others.set(entity, 1)
    for other in _OTHERS:
        among_others.set(other, 2)
    assert among_others.sharing("alice", "app") == sharing


def test_an_unnamed_client_has_no_quota() -> None:
    limits = QuotaLimits()
    limits.set(Entity(client_id=_DEFAULT), 5)
    assert limits.limit(limits.sharing("ANONYMOUS", "")) is None
