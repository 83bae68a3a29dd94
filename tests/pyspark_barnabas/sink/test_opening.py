"""How a task registers its run's token when the answer to the end of that transaction is lost."""

import pytest

from barnabas import Barnabas
from barnabas.client.client import Client
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.ledger.access import LedgerAccess
from pyspark_barnabas.sink.opening import open_run
from pyspark_barnabas.sink.settings import SinkSettings, TaskFacts

TASK = TaskFacts("q", "run", 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("is_applied", "ends"),
    [
        pytest.param(True, 1, id="applied, and its record is found"),
        pytest.param(False, 2, id="not applied, so another token is taken"),
    ],
)
def test_an_end_without_an_answer_is_not_sent_again(is_applied: bool, ends: int) -> None:
    with Barnabas(in_process=True) as broker, Client(broker.bootstrap_servers) as client:
        settings = SinkSettings(ConnectionSettings(broker.bootstrap_servers), prefix="p", is_atomic=True)
        access = LedgerAccess(client, "p", "q", 0, 10_000)
        lost = broker.faults.arm(api="EndTxn", drop=not is_applied, cut="before", times=1)
        every = broker.faults.arm(api="EndTxn", delay="1ms", times="always")
        run, ledger = open_run(client, settings, TASK, access)
        assert [each.run for each in ledger.records] == [run]
        assert (lost.fired, every.matched) == (1, ends)
        assert (run.producer_epoch == 0) == is_applied, "an end is sent again with another token only"
