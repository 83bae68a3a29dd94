"""A catalogue on a disk in memory, that can be killed, cut off from power, stopped and started again."""

import random
from typing import Any

from barnabas.broker.config import BrokerConfig
from barnabas.broker.metadata.catalogue import Catalogue
from barnabas.broker.metadata.image.framing import decode_record
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.control import parse_control_key
from barnabas.protocol.records.record import iter_records
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from tests.support.files.memory_files import MemoryFiles, Survival
from tests.support.worlds.configs import replace_configs

NODE_ID = 1
DIRECTORY_ID = bytes(range(16, 32))
DIRECTORY = "/d/__cluster_metadata-0"
LOG = f"{DIRECTORY}/00000000000000000000.log"


class CatalogueWorld:
    """`catalogue` is open unless `is_started` is false; `kill`, `cut_power` and `stop` start it again."""

    def __init__(self, seed: int = 0, settings: dict[str, str] | None = None, *, is_started: bool = True) -> None:
        self.files = MemoryFiles(seed)
        self.files.mkdir("/d")
        self.files.sync_directory("")
        self._random = random.Random(seed)
        self._settings = settings or {}
        self.directory_id = DIRECTORY_ID
        self.now_ms = 1_700_000_000_000
        if is_started:
            self.start()

    def start(self, *, was_clean: bool = False) -> Catalogue:
        disk = Disk(self.files, "/d")
        self.config = BrokerConfig(self._settings)
        self.catalogue = Catalogue.open(
            Directory(disk, "/d").subdirectory("__cluster_metadata-0"),
            node_id=NODE_ID,
            directory_id=self.directory_id,
            config=self.config,
            now_ms=lambda: self.now_ms,
            random_bytes=self._random.randbytes,
            was_clean=was_clean,
        )
        return self.catalogue

    def kill(self) -> Catalogue:
        """kill -9 and start: what was written is there, synced or not."""
        self.files.crash("everything")
        return self.start()

    def cut_power(self, survival: Survival = "nothing", *, torn: bool = False) -> Catalogue:
        """A power cut and start: only what was synced is sure to be there."""
        self.files.crash(survival, torn=torn)
        return self.start()

    def stop(self) -> Catalogue:
        """A clean stop and start."""
        self.catalogue.close()
        return self.start()

    def files_of_log(self) -> list[str]:
        """The snapshots and segments there are; a snapshot comes before the segment that begins at its end."""
        found = (entry.name for entry in self.files.entries(DIRECTORY))
        return sorted(name for name in found if name.endswith((".log", ".checkpoint")))

    def fill(self) -> None:
        """Have some of everything that a catalogue holds."""
        catalogue = self.catalogue
        catalogue.create_topic("a", 3, {"retention.ms": "-1"})
        catalogue.create_topic("gone")
        catalogue.delete_topics(["gone"])
        catalogue.lead([("a", 0), ("a", 2)])
        replace_configs(catalogue, 4, "", {"log.retention.ms": "5"})
        catalogue.allocate_producer_ids()

    def log(self) -> bytes:
        file = self.files.open(LOG, read_only=True)
        return file.pread(file.size(), 0)

    def records(self) -> list[tuple[int, int, Any]]:
        """(offset, epoch, record or type of the control record) of everything in the log."""
        found = []
        for position, header in iter_batches(data := self.log()):
            for record in iter_records(memoryview(data)[position:]):
                what = parse_control_key(record.key) if header.is_control else decode_record(record.value)
                found.append((record.offset, header.partition_leader_epoch, what))
        return found


def state_of(catalogue: Catalogue) -> dict[str, Any]:
    """The state of a catalogue that a restart must not change."""
    return {
        "topics": {
            name: (
                topic.topic_id,
                dict(topic.configs),
                [(part.leader, part.leader_epoch, part.partition_epoch) for part in topic.partitions],
            )
            for name, topic in catalogue.topics.items()
        },
        "ids": {topic_id: topic.name for topic_id, topic in catalogue.topics_by_id.items()},
        "configs": {name: dict(catalogue.configs_of(4, name)) for name in ("", "1")},
        "features": dict(catalogue.feature_levels),
        "broker_epoch": catalogue.broker_epoch,
    }
