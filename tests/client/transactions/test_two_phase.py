"""Two-phase commits with another system: what one process prepared another one ends, over a kill of the broker too."""

from pathlib import Path

import pytest

from barnabas.client import transaction_requests
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.transactions.producer import TransactionalProducer
from barnabas.protocol.errors import KafkaError
from tests.support.clients.committed import values
from tests.support.processes.own_broker import OwnBroker

SWITCHED_ON = {"transaction.two.phase.commit.enable": "true"}


@pytest.mark.parametrize("commit", [True, False])
def test_a_prepared_transaction_is_kept_over_a_kill_and_ended_by_whoever_comes_back(
    tmp_path: Path, commit: bool
) -> None:
    with OwnBroker(tmp_path / "data", SWITCHED_ON) as broker:
        with Client(broker.address) as client:
            create_topic(client, "t", partitions=1)
            first = TransactionalProducer(client, "sink")
            first.init(enable_2pc=True)
            first.begin()
            first.send("t", b"prepared", partition=0)
            first.flush()
        broker.kill()
        broker.start()
        with Client(broker.address) as client:
            second = transaction_requests.init_producer(
                client, "sink", timeout_ms=1, enable_2pc=True, keep_prepared=True
            )
            assert second.ongoing == first.identity
            assert values(client, "t") == []
            after = transaction_requests.end(
                client,
                "sink",
                second.identity,
                commit=commit,
                protocol=transaction_requests.find_protocol(client, "sink"),
            )
            assert after > second.identity
            assert values(client, "t") == ([b"prepared"] if commit else [])
            with pytest.raises(KafkaError, match=r"PRODUCER_FENCED|INVALID_PRODUCER"):
                transaction_requests.end(
                    client, "sink", first.identity, commit=True, protocol=transaction_requests.EXPLICIT
                )


def test_where_it_is_not_switched_on_nobody_is_led_to_believe_it(tmp_path: Path) -> None:
    with (
        OwnBroker(tmp_path / "data") as broker,
        Client(broker.address) as client,
        pytest.raises(KafkaError, match="offers no two-phase commits"),
    ):
        transaction_requests.init_producer(client, "sink", timeout_ms=1, enable_2pc=True)
