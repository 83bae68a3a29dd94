"""docs/clients-under-faults.md: what stock clients do when a fault meets one of their requests."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from barnabas import Barnabas
from barnabas.client.client import Client
from barnabas.client.offsets import committed_offsets
from barnabas.client.produce.producer import Producer
from tests.compat.under_faults import aiokafka_client, franz_go, java, kafka_python, kafkajs, librdkafka
from tests.compat.under_faults.faults import ERRORS, FINAL_ERRORS, KINDS, fault
from tests.support.source_tree import ROOT

PAGE = (ROOT / "docs" / "clients-under-faults.md").read_text()
CLIENTS = {
    "librdkafka": librdkafka.SCENARIOS,
    "Java": java.SCENARIOS,
    "franz-go": franz_go.SCENARIOS,
    "aiokafka": aiokafka_client.SCENARIOS,
    "kafka-python": kafka_python.SCENARIOS,
    "kafkajs": kafkajs.SCENARIOS,
}
PROGRAMS = (java.PROGRAM, franz_go.PROGRAM, kafkajs.PROGRAM)
WRITE = ("Produce", "AddPartitionsToTxn", "TxnOffsetCommit", "EndTxn")
COMMIT = dict.fromkeys(WRITE[1:], "in-transactions") | {"OffsetCommit": "committing"}
LAST = ("Produce", "EndTxn", "OffsetCommit")  # of a scenario
UNHEARD = ("lose_answer", "cut before", "cut middle", "cut after")  # the request is applied
WRITTEN = ("goes on", "tries again")
AT_ONCE = len(KINDS)  # they mostly wait
LIMIT_S = 120


@pytest.fixture(scope="module", autouse=True)
def programs() -> Iterator[None]:
    """Clients of other languages: each is a process that starts with its first scenario, and plays all of them."""
    yield
    for program in PROGRAMS:
        program.close()


def told(client: str) -> dict[str, dict[str, str]]:
    """By API and kind of fault: what the page says that the client does."""
    header, _, *rows = PAGE.split(f"\n## {client}\n")[1].split("\n\n")[1].splitlines()
    kinds = [cell.strip(" `") for cell in header.strip("|").split("|")[1:]]
    cells = [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in rows]
    return {api: dict(zip(kinds, outcomes, strict=True)) for api, *outcomes in cells}


def outcome(client: str, api: str, kind: str) -> str:
    """What it does; and where it writes and goes on, one record is there, and its offset where it commits one."""
    config = {"group.initial.rebalance.delay.ms": 0}
    features = {"transaction.version": 1} if api == "AddPartitionsToTxn" else {}  # with 2 many clients send none
    with (
        Barnabas(topics={"t": 1, "given": 1}, config=config, features=features) as broker,
        ThreadPoolExecutor(1) as thread,
    ):
        with Client(broker.bootstrap_servers) as own, Producer(own) as producer:
            producer.send("given", b"x", partition=0)
        armed = broker.faults.arm(**fault(kind, api))
        running = thread.submit(CLIENTS[client][api], broker.bootstrap_servers)
        if kind == "pause":
            armed.wait_standing(timeout_s=LIMIT_S)
            armed.release()
        found = running.result()
        broker.faults.assert_all_fired()
        applied = found in WRITTEN or (api in LAST and kind in UNHEARD)  # the error leaves open whether it was
        assert len(broker.records("t")) == int(applied and api in WRITE)
        if group := COMMIT.get(api):
            with Client(broker.bootstrap_servers) as own:
                offsets = committed_offsets(own, group, require_stable=applied)
            assert list(offsets.values()) == [1] * applied
    return found


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("api", ERRORS)
def test_clients_do_what_the_page_says(client: str, api: str) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(KINDS, pool.map(lambda kind: outcome(client, api, kind), KINDS), strict=True))
    assert found == told(client)[api]


@pytest.mark.parametrize(
    ("scenario", "then"), {"produce": "ErrFirstReadEOF", "produceAlwaysRetryEOF": "goes on"}.items()
)
def test_franz_go_refuses_a_record_where_the_first_answer_is_cut_unless_told_to_retry(scenario: str, then: str) -> None:
    with Barnabas(topics={"t": 1}) as broker:
        broker.faults.arm(**fault("cut before", "InitProducerId"))
        assert franz_go.PROGRAM.play(scenario, broker.bootstrap_servers) == then
        assert len(broker.records("t")) == int(then in WRITTEN)


def test_the_page_says_which_errors_these_are() -> None:
    _, _, *rows = PAGE.split("| API | error |")[1].split("\n\n")[0].splitlines()
    cells = [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in rows]
    assert [(api, error, final) for api, error, final in cells] == [
        (api, ERRORS[api], FINAL_ERRORS[api]) for api in ERRORS
    ]


@pytest.mark.parametrize(
    ("api", "then"), {"Produce": "goes on", "TxnOffsetCommit": "goes on", "EndTxn": "PRODUCER_FENCED"}.items()
)
def test_java_aborts_and_commits_the_next_transaction_unless_it_was_fenced(api: str, then: str) -> None:
    with Barnabas(topics={"t": 1, "given": 1}) as broker:
        broker.faults.arm(**fault("final error", api))
        assert java.PROGRAM.play("nextTransaction", broker.bootstrap_servers) == then
        assert len(broker.records("t")) == int(then in WRITTEN)


@pytest.mark.parametrize("api", ["TxnOffsetCommit", "EndTxn"])
def test_aiokafka_needs_a_new_producer_after_a_final_error_of_a_transaction(api: str) -> None:
    with Barnabas(topics={"t": 1, "given": 1}) as broker:
        broker.faults.arm(**fault("final error", api))
        assert aiokafka_client.aborted_and_made_anew(broker.bootstrap_servers) == ("AssertionError", "goes on")
        assert len(broker.records("t")) == 1


@pytest.mark.parametrize(
    ("api", "kind", "aborted"),
    [
        ("TxnOffsetCommit", "final error", "goes on"),
        ("EndTxn", "final error", "KafkaError"),
        ("EndTxn", "drop", "KafkaError"),
    ],
)
def test_kafka_python_needs_a_new_producer_unless_it_can_abort(api: str, kind: str, aborted: str) -> None:
    with Barnabas(topics={"t": 1, "given": 1}) as broker:
        broker.faults.arm(**fault(kind, api))
        assert kafka_python.aborted_and_made_anew(broker.bootstrap_servers) == (aborted, "goes on")
        assert len(broker.records("t")) == 1


@pytest.mark.parametrize(("kind", "records"), {"error": 1, "cut before": 2, "drop": 1}.items())
def test_kafkajs_needs_a_new_producer_after_a_commit_that_failed(kind: str, records: int) -> None:
    with Barnabas(topics={"t": 1, "given": 1}) as broker:
        broker.faults.arm(**fault(kind, "EndTxn"))
        outcome = kafkajs.PROGRAM.play("madeAnew", broker.bootstrap_servers)
        assert outcome == "KafkaJSNonRetriableError, then goes on"
        assert len(broker.records("t")) == records
