"""What clients cause a thousand times a second is told seldom, kept in bounds, and none of it is lost in the counts."""

from typing import Any

from barnabas.broker.runtime.events import EventKind, Events
from barnabas.broker.runtime.events.repeated import CASES_MAX, REPORT_INTERVAL_S, REPORTS_MAX, TEXT_MAX

DENIED = EventKind("a.denied", "something", ("who", "peer", "count"))


class World:
    def __init__(self) -> None:
        self.now_s = 0.0
        self.events = Events(lambda: self.now_s)
        self.told: list[dict[str, Any]] = []

    def listen(self) -> None:
        self.events.listen(lambda kind, facts: self.told.append(facts))

    def happen(self, who: object, times: int = 1) -> None:
        for number in range(times):
            self.events.emit_repeated(DENIED, {"who": who}, peer=number)


def test_it_is_reported_at_once_and_then_after_a_while_with_its_count() -> None:
    world = World()
    world.listen()
    world.happen("alice", 1_000)
    assert world.told == [{"who": "alice", "peer": 0, "count": 1}]
    world.now_s = REPORT_INTERVAL_S
    world.happen("alice")
    assert world.told[1:] == [{"who": "alice", "peer": 0, "count": 1_000}]


def test_many_cases_do_not_drown_the_others() -> None:
    world = World()
    world.listen()
    for number in range(10 * CASES_MAX):
        world.happen(f"user-{number}")
    assert len(world.told) == REPORTS_MAX
    assert len(world.events.lately(DENIED)) == CASES_MAX
    world.now_s = REPORT_INTERVAL_S
    world.happen("bob")
    assert world.told[-1]["who"] == "bob"


def test_past_events_are_available_without_listeners() -> None:
    world = World()
    assert world.events.lately(DENIED) == []
    world.happen("alice", 3)
    world.now_s = 5.0
    world.happen("bob")
    world.happen("carol")
    world.happen("bob")
    assert [(each.facts["who"], each.count, each.last_s) for each in world.events.lately(DENIED)] == [
        ("bob", 2, 5.0),
        ("carol", 1, 5.0),
        ("alice", 3, 0.0),
    ]
    assert world.events.lately(DENIED)[-1].facts["peer"] == 2, "of the last time"
    world.listen()
    world.happen("alice")
    assert world.told == [{"who": "alice", "peer": 0, "count": 4}]


def test_long_names_are_cut() -> None:
    world = World()
    world.happen("x" * 30_000)
    world.happen(None)
    nobody, long = world.events.lately(DENIED)
    assert len(long.facts["who"]) == TEXT_MAX
    assert nobody.facts["who"] is None
