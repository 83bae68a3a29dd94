"""`broker.faults`: faults armed from a test, wherever the broker runs; and by the fixture."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from typing import Any, get_type_hints

import pytest

from barnabas import Barnabas, BarnabasError, FaultEffect, FaultMatch
from barnabas.broker.control.faults.plan.of_requests import ACTIONS, MATCHES
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from barnabas.embedded.handles import fault_values, faults
from barnabas.protocol.errors import KafkaError
from tests.barnabas.conftest import NewBroker, Writer
from tests.support.waiting import PATIENCE_S


def test_a_commit_whose_answer_never_comes_was_made(broker: Barnabas, writer: Writer) -> None:
    lost = broker.faults.arm(api="EndTxn", transactional_id="t*", cut="before")
    tx = writer.begin(broker, "tx", b"x")
    tx.commit()  # asks again, and is told that it is committed
    assert [record.value for record in broker.records("orders")] == [b"x"]
    assert (lost.fired, lost.matched) == (1, 1), "one that is over counts no more"
    broker.faults.assert_all_fired()


def test_a_pause_holds_a_request_until_it_is_released(broker: Barnabas, writer: Writer) -> None:
    pause = broker.faults.arm(name="here", api="EndTxn", pause=True)
    tx = writer.begin(broker, "tx", b"x")
    with ThreadPoolExecutor(1) as thread:
        committing = thread.submit(tx.commit)
        pause.wait_standing(timeout_s=PATIENCE_S)
        assert pause.standing == 1
        assert broker.records("orders") == []
        pause.release()
        committing.result(PATIENCE_S)
    assert [record.value for record in broker.records("orders")] == [b"x"]


def test_one_waits_in_a_thread_while_another_asks_the_broker(broker: Barnabas) -> None:
    fault = broker.faults.arm(api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=2)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(fault.wait, 2, PATIENCE_S)
        assert broker.topics() == {"orders": 2}
        with Client(broker.bootstrap_servers) as client, Producer(client) as producer:
            producer.send("orders", b"x", partition=0)
        waiting.result(PATIENCE_S)
    assert fault.fired == 2


def test_which_did_not_fire_is_reported(broker: Barnabas) -> None:
    fault = broker.faults.arm(name="never", api="EndTxn", drop=True)
    with pytest.raises(AssertionError, match=r"^these faults did not fire as often as planned: never$"):
        broker.faults.assert_all_fired()
    with pytest.raises(BarnabasError, match=r"^fault never: it has fired 0 of 1 times after 0\.01 s$"):
        fault.wait(timeout_s=0.01)
    with pytest.raises(BarnabasError, match=r"^fault never: 0 of 2 requests or steps wait after 0\.01 s$"):
        fault.wait_standing(2, timeout_s=0.01)
    fault.disarm()
    with pytest.raises(BarnabasError, match=r"^there is no fault 'never': none is armed$"):
        fault.wait()
    broker.faults.assert_all_fired()
    assert (repr(fault), repr(broker.faults)) == ("<fault never>", "<the faults of a Barnabas>")


def test_a_plan_is_armed_and_taken_back(broker: Barnabas) -> None:
    one = {"name": "one", "match": {"api": "Fetch"}, "do": {"delay": "1ms"}, "times": "always"}
    (handle,) = broker.faults.arm_plan({"version": 1, "seed": 7, "faults": [one]})
    assert handle.name == "one"
    assert broker.faults.armed == [{**one, "matched": 0, "fired": 0, "standing": 0}]
    broker.faults.reset()
    assert broker.faults.armed == []


def test_invalid_input_is_reported_in_a_sentence(broker: Barnabas) -> None:
    with pytest.raises(BarnabasError, match="EndTxn names no topic, only transactional_id"):
        broker.faults.arm(api="EndTxn", topic="t", drop=True)
    with pytest.raises(BarnabasError, match="a fault needs an action"):
        broker.faults.arm(api="EndTxn")
    with pytest.raises(TypeError):
        broker.faults.arm(api=object(), drop=True)  # type: ignore[arg-type]  # because that is what is refused
    with pytest.raises(BarnabasError, match="NaN is not a JSON number"):
        broker.faults.arm(probability=float("nan"), drop=True)
    with pytest.raises(BarnabasError, match="a plan's faults are a list"):
        broker.faults.arm_plan({"version": 1})


@pytest.mark.parametrize(
    ("arm", "words", "said"),
    [
        ("arm", {"position": 1}, r'a fact of a point, as in arm\(point="transaction.\w+", facts={"position": …}, …\)'),
        ("arm", {"seed": 7}, r"has no keyword seed: it belongs to a plan: arm_plan\("),
        ("arm", {"client": "c"}, r"has no keyword client: did you mean client_id\?$"),
        ("arm", {"colour": "red"}, r"has no keyword colour, but match, do, times, name, restart, api"),
        ("arm", {"transactionl_id": "t"}, r"has no keyword transactionl_id: did you mean transactional_id\?$"),
        ("arm_plan", {"cut": "after"}, r"has no keyword cut: it belongs to one of the plan's faults, in do$"),
        ("arm_plan", {"api": "Fetch"}, r"it belongs to one of the plan's faults, in match$"),
        ("arm_plan", {"times": 2}, r"it belongs to one of the plan's faults$"),
    ],
)
def test_a_keyword_at_the_wrong_place_is_reported_where_it_belongs(
    arm: str, words: dict[str, object], said: str
) -> None:
    armed = faults.FaultsHandle(lambda *_: None, lambda _: None, lambda *_: None)
    with pytest.raises(TypeError, match=said):
        getattr(armed, arm)(**words)


def test_a_broker_that_is_started_again_has_no_faults(new_broker: NewBroker) -> None:
    broker = new_broker(topics=["t"])
    broker.faults.arm(api="Metadata", drop=True)
    broker.restart()
    assert broker.faults.armed == []
    broker.faults.arm(api="Metadata", drop=True)
    broker.kill()
    broker.start()
    assert broker.faults.armed == []


def test_the_next_broker_of_the_pool_has_no_faults() -> None:
    with Barnabas() as first:
        first.faults.arm(api="Metadata", drop=True)
    with Barnabas(topics=["t"]) as second:
        assert second.faults.armed == []


def test_faults_meet_the_node_that_they_name(new_broker: NewBroker) -> None:
    broker = new_broker(topics={"t": 3}, brokers=3, config={"node.id": 1})
    leaders = {broker.leader("t", number): number for number in range(3)}
    fault = broker.faults.arm(api="Produce", node=2, error="TOPIC_AUTHORIZATION_FAILED", times="always")
    produce(broker, leaders[1])
    produce(broker, leaders[3])
    assert fault.fired == 0
    broker.stop_node(2)
    broker.start_node(2)
    broker.move_leader("t", leaders[2], 2)
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        produce(broker, leaders[2])
    assert fault.fired == 1


def produce(broker: Barnabas, partition: int) -> None:
    """KafkaError."""
    with Client(broker.bootstrap_servers) as client, Producer(client) as producer:
        sent = producer.send("t", b"x", partition=partition)
        producer.flush()
        sent.result()


def test_the_values_have_the_keys_of_a_plan_and_so_have_the_keywords() -> None:
    match, effect = get_type_hints(FaultMatch), get_type_hints(FaultEffect)
    assert match.keys() == {*MATCHES, "point", "disk", "file", "facts"}
    assert effect.keys() == {*ACTIONS, "crash"}
    assert get_type_hints(fault_values.FaultKeywords) == {**match, **effect}


class Asked:
    """The faults of a broker that accepts all; `plans` are the JSON values that it was asked to arm."""

    def __init__(self) -> None:
        self.plans: list[Any] = []
        self.faults = faults.FaultsHandle(self._ask, lambda _: None, lambda *_: None)

    def _ask(self, question: str, plan: str) -> list[str]:
        assert question == "faults_arm"
        self.plans.append(json.loads(plan))
        return ["it"]


FORMS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (
        {"api": "EndTxn", "transactional_id": "orders-*", "lose_answer": True},
        {"match": FaultMatch(api="EndTxn", transactional_id="orders-*"), "do": FaultEffect(lose_answer=True)},
        {"match": {"api": "EndTxn", "transactional_id": "orders-*"}, "do": {"lose_answer": True}},
    ),
    (
        {"api": "Fetch", "version": {"min": 3}, "nth": 2, "probability": 0.5, "delay": {"mean": "1s"}, "throttle": 9},
        {
            "match": FaultMatch(api="Fetch", version={"min": 3}, nth=2, probability=0.5),
            "do": FaultEffect(delay={"mean": "1s"}, throttle=9),
        },
        {
            "match": {"api": "Fetch", "version": {"min": 3}, "nth": 2, "probability": 0.5},
            "do": {"delay": {"mean": "1s"}, "throttle": 9},
        },
    ),
    (
        {"point": "transaction.marker_written", "facts": {"position": 1, "is_commit": False}, "crash": True},
        {
            "match": FaultMatch(point="transaction.marker_written", facts={"position": 1, "is_commit": False}),
            "do": FaultEffect(crash=True),
        },
        {
            "match": {"point": "transaction.marker_written", "position": 1, "is_commit": False},
            "do": {"crash": True},
        },
    ),
    (
        {"disk": "sync", "file": "index", "topic": "orders", "partition": 0, "error": "EIO"},
        {
            "match": FaultMatch(disk="sync", file="index", topic="orders", partition=0),
            "do": FaultEffect(error="EIO"),
        },
        {"match": {"disk": "sync", "file": "index", "topic": "orders", "partition": 0}, "do": {"error": "EIO"}},
    ),
    (
        {"api": None, "node": 0, "drop": False, "pause": True},
        {"match": FaultMatch(node=0), "do": FaultEffect(pause=True)},
        {"match": {"node": 0}, "do": {"pause": True}},
    ),
    ({"drop": True}, {"do": FaultEffect(drop=True)}, {"match": {}, "do": {"drop": True}}),
]


@pytest.mark.parametrize(("flat", "values", "plan"), FORMS, ids=[str(number) for number in range(len(FORMS))])
@pytest.mark.parametrize("more", [{}, {"name": "it", "times": "always"}], ids=["plain", "named"])
def test_all_forms_arm_the_same_fault(
    flat: dict[str, Any], values: dict[str, Any], plan: dict[str, Any], more: dict[str, Any]
) -> None:
    asked = Asked()
    mixed = {"match": values.get("match"), **{key: flat[key] for key in fault_values.EFFECTS if key in flat}}
    for form in (flat, values, plan, mixed):
        asked.faults.arm(**form, **more)
    expected = {**plan, "times": 1, **more}
    assert asked.plans == [expected] * 4
    asked.faults.arm_plan({"version": 1, "faults": [{**values, **more}]})
    assert asked.plans[-1] == {"version": 1, "faults": [{**{key: plan[key] for key in values}, **more}]}


def test_keywords_and_values_add_up() -> None:
    asked, orders = Asked(), FaultMatch(api="EndTxn", transactional_id="orders-*")
    asked.faults.arm(match=orders, nth=2, do={"delay": "1s"}, drop=True)
    assert asked.plans == [
        {
            "match": {"api": "EndTxn", "transactional_id": "orders-*", "nth": 2},
            "do": {"delay": "1s", "drop": True},
            "times": 1,
        }
    ]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"match": FaultMatch(api="Fetch"), "api": "EndTxn"}, "api is given twice: as a keyword and in match"),
        ({"match": {"api": "Fetch"}, "api": "Fetch"}, "api is given twice: as a keyword and in match"),
        ({"do": FaultEffect(drop=True), "drop": True}, "drop is given twice: as a keyword and in do"),
        ({"topic": "a", "facts": {"topic": "b"}}, "topic is given twice: as a condition and in facts"),
        ({"match": {"position": 1}, "facts": {"position": 2}}, "position is given twice: as a keyword and in match"),
        ({"match": FaultEffect(drop=True)}, "match is a FaultMatch or a mapping with the keys of a plan, not FaultE"),
        ({"do": "drop"}, "do is a FaultEffect or a mapping with the keys of a plan, not 'drop'"),
        ({"do": {"drop": object()}}, "a fault is made of JSON values, FaultMatch and FaultEffect, not <object"),
    ],
)
def test_contradictory_keys_of_a_fault_are_refused(form: dict[str, Any], said: str) -> None:
    asked = Asked()
    with pytest.raises(TypeError, match=f"^{said}"):
        asked.faults.arm(**form)
    assert asked.plans == []


def test_values_are_values() -> None:
    match = FaultMatch(api="EndTxn")
    assert (match, hash(match)) == (FaultMatch(api="EndTxn"), hash(FaultMatch(api="EndTxn")))
    with pytest.raises(FrozenInstanceError):
        match.api = "Fetch"  # type: ignore[misc]  # because that is what is refused
    with pytest.raises(TypeError, match="unexpected keyword argument 'apy'"):
        FaultMatch(apy="EndTxn")  # type: ignore[call-arg]  # because that is what is refused


def test_a_fault_given_in_values_fires(broker: Barnabas, writer: Writer) -> None:
    lost = broker.faults.arm(
        match=FaultMatch(api="EndTxn", transactional_id="t*"), do=FaultEffect(cut="before"), name="lost"
    )
    writer.begin(broker, "tx", b"x").commit()
    assert (lost.name, lost.fired) == ("lost", 1)
    with pytest.raises(BarnabasError, match="EndTxn names no topic, only transactional_id"):
        broker.faults.arm(match={"api": "EndTxn", "topic": "t"}, do=FaultEffect(drop=True))
