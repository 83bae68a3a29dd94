"""One Spark and one broker for all tests: a session costs five seconds and 700 MB."""

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from tests.support.kafka.jars import spark_connector_libs
from tests.support.processes.server import Server
from tests.support.spark.cluster import QUICK_JVM


def pytest_configure(config: pytest.Config) -> None:
    """py4j leaves its sockets to the garbage collector, which warns of them."""
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark on two threads with its stock Kafka connector; a task is tried twice."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["JDK_JAVA_OPTIONS"] = QUICK_JVM
    scratch = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2,2]")
        .appName("barnabas-tests")
        .config("spark.jars", ",".join(str(jar) for jar in sorted(spark_connector_libs().glob("*.jar"))))
        .config("spark.ui.enabled", "false")
        .config("spark.speculation", "false")
        .config("spark.stage.maxConsecutiveAttempts", "1")  # which atomic mode asks for
        .config("spark.sql.shuffle.partitions", "2")
        .config(
            "spark.python.daemon.module", "tests.support.chaos.warm_daemon"
        )  # imports once, before it forks workers
        .config("spark.local.dir", str(scratch))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
    _forget_the_jvm()


def _forget_the_jvm() -> None:
    """End the JVM with its sockets, which py4j leaves to the garbage collector, which would warn of them at the end."""
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    gateway.proc.stdin.close()  # at which Spark's JVM ends itself
    gateway.proc.wait()
    del gateway
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        gc.collect()


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory, new_server: Callable[[Path, Mapping[str, object]], Server]
) -> Iterator[Server]:
    """A running broker that makes topics of three partitions by itself, and keeps messages of times long past."""
    settings = {"num.partitions": 3, "log.retention.ms": -1}
    with new_server(tmp_path_factory.mktemp("server") / "data", settings) as server:
        yield server


@pytest.fixture(scope="session")
def strict_server(
    tmp_path_factory: pytest.TempPathFactory, new_server: Callable[[Path, Mapping[str, object]], Server]
) -> Iterator[Server]:
    """A running broker that makes no topic by itself."""
    settings = {"auto.create.topics.enable": "false"}
    with new_server(tmp_path_factory.mktemp("strict-server") / "data", settings) as server:
        yield server
