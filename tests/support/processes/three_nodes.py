"""Barnabas as three nodes: `.venv/bin/barnabas serve --brokers 3`, on ports that it takes itself (decision 0112)."""

from collections.abc import Mapping
from pathlib import Path

from tests.support.processes.broker import READY, BrokerProcess

COORDINATED = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}
"""One group coordinator and one transaction coordinator for all, so that moving it moves that of all."""


class ThreeNodes(BrokerProcess):
    """Every topic has three replicas, two of which must be in sync: what a cluster of three is usually set to."""

    def __init__(self, data_dir: Path, settings: Mapping[str, object] | None = None) -> None:
        replicated = {"default.replication.factor": 3, "min.insync.replicas": 2, **COORDINATED}
        super().__init__(data_dir, {**replicated, **(settings or {})}, flags=("--brokers", "3"))
        self.port = 0  # each node takes a free one
        self._address = ""

    @property
    def address(self) -> str:
        return self._address

    def port_of(self, ready_line: str) -> int:
        self._address = ready_line.removeprefix(READY).split(" ")[0]
        return int(self._address.split(",")[0].rpartition(":")[2])
