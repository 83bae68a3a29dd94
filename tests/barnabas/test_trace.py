"""`broker.trace`: what happened last in a broker, wherever it runs; and in the report of a test that failed."""

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.client.client import Client
from barnabas.pytest_plugin import describe
from tests.barnabas.conftest import NewBroker
from tests.support.clients.committed import begun


def commit(broker: Barnabas, transactional_id: str) -> None:
    with Client(broker.bootstrap_servers, client_id="pays") as client:
        begun(client, transactional_id, b"value", topic="orders").commit()


def test_it_tells_what_happened_and_what_led_to_it(new_broker: NewBroker) -> None:
    broker = new_broker(topics={"orders": 2})
    commit(broker, "one")
    commit(broker, "two")
    own = broker.trace.events(transactional_id="two", kind=["producer", "transaction.completed"])
    assert [event.kind for event in own] == ["producer.id_given", "transaction.completed"]
    given, completed = own
    assert (given.cause["api"], given.cause["client_id"]) == ("InitProducerId", "pays")
    assert completed.facts["is_commit"] is True
    assert "transaction.completed two" in completed.text
    assert [event.number for event in own] == sorted(event.number for event in own)
    (added,) = broker.trace.events(topic="orders", partition=0, kind="transaction.partitions_added", limit=1)
    assert added.facts["partitions"] == ["orders-0"]
    assert len(broker.trace.events(limit=3)) == 3
    with pytest.raises(BarnabasError, match="no kind of event is called 'nothing'"):
        broker.trace.events(kind="nothing")


def test_the_report_of_a_failed_test_has_the_last_events(new_broker: NewBroker) -> None:
    broker = new_broker(topics={"orders": 2})
    commit(broker, "one")
    said = describe(broker)
    assert "latest events (docs/trace.md):" in said
    assert "transaction.completed one" in said
    broker.kill()
    assert "latest events" not in describe(broker)
