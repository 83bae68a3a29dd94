"""`broker.faults`: faults armed from a test, wherever the broker runs; and by the fixture."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.broker.control.faults.plan.of_requests import ACTIONS, MATCHES
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from barnabas.embedded.handles import faults
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


def test_somebody_stands_at_a_pause_until_it_is_released(broker: Barnabas, writer: Writer) -> None:
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


def test_which_did_not_fire_is_said(broker: Barnabas) -> None:
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


def test_what_makes_no_sense_is_said_in_a_sentence(broker: Barnabas) -> None:
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
        ("arm", {"match": {}}, r"has no keyword match: it belongs to a plan: arm_plan\("),
        ("arm", {"client": "c"}, r"has no keyword client: did you mean client_id\?$"),
        ("arm", {"colour": "red"}, r"has no keyword colour, but name, times, api"),
        ("arm", {"transactionl_id": "t"}, r"has no keyword transactionl_id: did you mean transactional_id\?$"),
        ("arm_plan", {"cut": "after"}, r"has no keyword cut: it belongs to one of the plan's faults, in do$"),
        ("arm_plan", {"api": "Fetch"}, r"it belongs to one of the plan's faults, in match$"),
        ("arm_plan", {"times": 2}, r"it belongs to one of the plan's faults$"),
    ],
)
def test_a_keyword_at_the_wrong_place_is_told_where_it_belongs(arm: str, words: dict[str, object], said: str) -> None:
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


def test_what_arm_takes_is_what_there_is() -> None:
    taken = set(inspect.signature(faults.FaultsHandle.arm).parameters) - {"self", "name", "times", "facts", "restart"}
    assert taken == {*MATCHES, "point", "disk", "file", *ACTIONS, "crash"}
    assert {*ACTIONS, "crash"} == set(faults._DOES)
