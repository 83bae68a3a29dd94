"""The plugin in projects that have packages of the broker's names: alone, with xdist, with asyncio, in a thread."""

from tests.embedding.conftest import Project

OWN = """
import broker, client, protocol, storage
import pytest

def test_the_projects_own_packages_are_meant(barnabas):
    assert {each.WHOSE for each in (broker, client, protocol, storage)} == {"the project"}
    barnabas.create_topic("orders", 3)
    assert barnabas.topics() == {"orders": 3}
"""

MARKED = """
import pytest
from barnabas import Topic

pytestmark = pytest.mark.barnabas(topics={"module": 1}, config={"num.partitions": 5})

@pytest.mark.barnabas(topics=["of_class"], features={"transaction.version": 1})
class TestMarks:
    @pytest.mark.barnabas(topics={"of_test": Topic(2, {"retention.ms": 1000})}, config={"num.partitions": 6})
    def test_add_up_and_the_nearest_counts(self, barnabas):
        barnabas.create_topic("default")
        assert barnabas.topics() == {"ini": 1, "option": 4, "module": 1, "of_class": 6, "of_test": 2, "default": 6}

def test_say_nothing_of_others(barnabas, barnabas_session, new_barnabas):
    assert barnabas.topics() == {"ini": 1, "option": 4, "module": 1}
    assert barnabas_session.topics() == {"ini": 1, "option": 4}
    third = new_barnabas(topics=["mine"])
    assert third.topics() == {"ini": 1, "option": 4, "mine": 3}
    assert len({barnabas.port, barnabas_session.port, third.port}) == 3

def test_the_session_has_one(barnabas_session):
    barnabas_session.create_topic("left_behind")

def test_for_all_tests(barnabas_session):
    assert "left_behind" in barnabas_session.topics()
"""

INI = """
[pytest]
barnabas_topics = ini:1
barnabas_config =
    num.partitions = 3
"""

ASYNC = """
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from barnabas import Barnabas

async def write_and_read(broker):
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
        await producer.send_and_wait("orders", b"hello")
    settings = {"auto_offset_reset": "earliest", "group_id": "readers"}
    async with AIOKafkaConsumer("orders", bootstrap_servers=broker.bootstrap_servers, **settings) as consumer:
        assert (await consumer.getone()).value == b"hello"

@pytest.mark.asyncio
async def test_the_fixture(barnabas):
    await write_and_read(barnabas)

@pytest.mark.asyncio
async def test_the_object():
    async with Barnabas(topics=["orders"]) as broker:
        await write_and_read(broker)
"""

WORKERS = """
import pytest
from barnabas.embedded import pool

@pytest.mark.parametrize("number", range(8))
def test_each(barnabas, barnabas_session, number, worker_id, record_testsuite_property):
    barnabas.create_topic("mine")
    assert barnabas.topics() == {"mine": 1}
    with open(f"{worker_id}.{number}", "w") as file:
        file.write(f"{pool.current().pid} {barnabas_session.port}")
"""

FAILING = """
import pytest
from confluent_kafka import Producer

@pytest.mark.barnabas(topics={"orders": 1})
def test_fails(barnabas, barnabas_session):
    producer = Producer({"bootstrap.servers": barnabas.bootstrap_servers, "transactional.id": "shop", "log_level": 0})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("orders", b"half an order")
    producer.flush()
    assert barnabas.records("orders") != []

def test_fails_after_a_kill(barnabas):
    barnabas.kill()
    assert barnabas.is_running

def test_passes(barnabas):
    assert barnabas.is_running
"""


def test_a_project_keeps_its_own_packages(project: Project) -> None:
    project.write("test_own.py", OWN)
    project.run()


def test_a_project_with_packages_of_these_names_has_its_broker_in_its_own_process_too(project: Project) -> None:
    project.write("test_own.py", OWN)
    project.write("broker.py", "WHOSE = 'nobody: the package broker/ comes before it'\n")
    project.run("--barnabas-in-process")


def test_ini_options_and_marks_say_what_a_broker_is_like(project: Project) -> None:
    project.write("test_marked.py", MARKED)
    project.write("pytest.ini", INI)
    project.run("--barnabas-topic", "option:4")


def test_a_mark_or_an_option_that_is_invalid_is_reported(project: Project) -> None:
    project.write("test_bad.py", OWN.replace("def test", "@pytest.mark.barnabas(topic='orders')\ndef test"))
    status, said = project.ended(project.start("--barnabas-topic", "orders:many"))
    assert status == 1
    assert "orders: 'many' is not a number" in said
    status, said = project.ended(project.start())
    assert "pytest.mark.barnabas does not know topic: did you mean topics?" in said


def test_async_tests_have_brokers(project: Project) -> None:
    project.write("test_async.py", ASYNC)
    project.run()


def test_each_worker_of_xdist_has_a_pool_and_a_session(project: Project) -> None:
    project.write("test_workers.py", WORKERS)
    project.run("-n", "2")
    facts = {path.name.partition(".")[0]: path.read_text().split() for path in project.home.glob("gw*")}
    assert facts.keys() == {"gw0", "gw1"}
    assert facts["gw0"][0] != facts["gw1"][0]
    assert facts["gw0"][1] != facts["gw1"][1]
    of_worker: dict[str, set[str]] = {path.name.partition(".")[0]: set() for path in project.home.glob("gw*")}
    for path in project.home.glob("gw*"):
        of_worker[path.name.partition(".")[0]].add(path.read_text())
    assert [len(each) for each in of_worker.values()] == [1, 1]


def test_a_failure_shows_the_brokers_log_and_its_open_transactions(project: Project) -> None:
    project.write("test_failing.py", FAILING)
    status, said = project.ended(project.start())
    assert status == 1
    assert said.count("broker (barnabas)") == 2
    assert "transaction shop: Ongoing for " in said
    assert "  orders-0: readers of committed records stop at offset 0 of 1" in said
    assert "  Transactional id shop has a transaction in orders-0: it is Ongoing" in said
    assert "topic created topic=orders partitions=1" in said
    assert "<Barnabas not running>" in said
