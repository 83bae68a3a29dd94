"""The brokers that are compared, each in a process of its own, and what is read of it from outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.measure import cpu_seconds, rss_mb
from tests.support.broker_process import BrokerProcess
from tests.support.kafka_process import KafkaProcess
from tests.support.server import Server

KAFKAS_OWN_JVM_OPTIONS = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)
"""What bin/kafka-server-start.sh gives a JVM that is left alone."""


class Peer:
    """One broker under measurement. `start_ms` is the time from spawn to its ready line, of the last start."""

    def __init__(self, name: str, server: Server) -> None:
        self.name = name
        self.server = server
        self.start_ms = 0.0

    def start(self) -> None:
        before = time.perf_counter()
        self.server.start()
        self.start_ms = (time.perf_counter() - before) * 1000

    def stop(self) -> None:
        self.server.stop()

    @property
    def port(self) -> int:
        return self.server.port

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.server.pid)

    def rss_mb(self) -> float:
        return rss_mb(self.server.pid)

    def measured(self, run: Callable[[Peer, float], dict[str, Any]], scale: float) -> dict[str, Any]:
        """Run a workload and add what it cost the broker: processor seconds per GB or per 1000 requests, and memory
        after it.
        """
        before = self.cpu_seconds()
        result = run(self, scale)
        spent = self.cpu_seconds() - before
        if "mb_per_second" in result and "messages" in result:
            gigabytes = result["messages"] * result["mb_per_second"] / result["per_second"] / 1000
            result["cpu_s_per_gb"] = spent / gigabytes
        elif "requests" in result:
            result["cpu_s_per_1000_requests"] = spent / result["requests"] * 1000
        elif "transactions" in result:
            result["cpu_us_per_transaction"] = spent / result["transactions"] * 1e6
        result["rss_mb"] = self.rss_mb()
        return result


def barnabas(directory: Path) -> Peer:
    return Peer("barnabas", BrokerProcess(directory))


def kafka(directory: Path) -> Peer:
    return Peer("kafka", KafkaProcess(directory, jvm_options=KAFKAS_OWN_JVM_OPTIONS))
