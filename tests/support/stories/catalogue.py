"""Stories about the catalogue, as text: commands, and what was written and answered.

    > create a partitions=2 retention.ms=5        a command
    batch: Topic a; Config a retention.ms=5; …    a batch that was appended, its records in order
    topic a: 2 partitions                         an answer

Commands: `create NAME [partitions=N] [KEY=VALUE…]`, `delete NAME…`, `grow NAME TOTAL`, `set RESOURCE KEY=VALUE…`,
`unset RESOURCE KEY…`, `append RESOURCE KEY=VALUE`, `lead TOPIC-PARTITION…`, `producer-ids`, `epochs TOPIC` (what
clients get), `stop`, `kill`, `cut-power`, `fill-disk`, `break-disk`, `mend-disk`. A RESOURCE is a topic,
`broker` or `every-broker`. A start shows only what it writes.

A story is its own expectation: `run` plays the commands and returns the text as it should be.
"""

import errno
from typing import Any

from barnabas.broker.metadata.catalogue import NewPartitions
from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.control import parse_control_key
from barnabas.protocol.records.record import iter_records
from tests.support.worlds.catalogue import CatalogueWorld

_RESOURCES = {"broker": (4, "1"), "every-broker": (4, "")}


class Story:
    """One story while it is played."""

    def __init__(self) -> None:
        self._world = CatalogueWorld(is_started=False)
        self._lines: list[str] = []
        self._seen = 0

    def run(self, text: str) -> str:
        """The commands of `text`, with what came of each."""
        self._start()
        for line in text.splitlines():
            if line.startswith("> "):
                self._lines.append(line)
                self._do(line[2:].split())
            elif line.startswith("# ") or (not line and self._lines):
                self._lines.append(line)
        return "\n".join(self._lines).rstrip() + "\n"

    def _start(self) -> None:
        self._world.start()
        self._show_batches()

    def _do(self, words: list[str]) -> None:
        command, *rest = words
        try:
            answer = getattr(self, f"_{command.replace('-', '_')}")(*rest)
        except KafkaError as refusal:
            answer = f"refused {refusal.code.name}: {refusal.message}"
        self._show_batches()
        if answer:
            self._lines.append(answer)

    # --- commands ---

    def _create(self, name: str, *pairs: str) -> str:
        configs = dict(pair.split("=", 1) for pair in pairs)
        topic = self._world.catalogue.create_topic(name, int(configs.pop("partitions", -1)), configs)
        return f"topic {topic.name}: {len(topic.partitions)} partitions"

    def _delete(self, *names: str) -> None:
        self._world.catalogue.delete_topics(names)

    def _grow(self, name: str, total: str) -> str | None:
        (refusal,) = self._world.catalogue.create_partitions([NewPartitions(name, int(total))])
        if refusal is not None:
            raise refusal
        return f"topic {name}: {len(self._world.catalogue.topics[name].partitions)} partitions"

    def _set(self, resource: str, *pairs: str) -> str:
        return self._alter(resource, AlterConfigOp.SET, pairs)

    def _append(self, resource: str, *pairs: str) -> str:
        return self._alter(resource, AlterConfigOp.APPEND, pairs)

    def _unset(self, resource: str, *names: str) -> str:
        return self._alter(resource, AlterConfigOp.DELETE, names)

    def _alter(self, resource: str, operation: AlterConfigOp, pairs: tuple[str, ...]) -> str:
        kind, name = _RESOURCES.get(resource, (2, resource))
        alterations = [Alteration(key, operation, value or None) for key, _, value in (p.partition("=") for p in pairs)]
        self._world.catalogue.alter_configs(kind, name, alterations)
        return f"{resource}: {_pairs(self._world.catalogue.configs_of(kind, name))}"

    def _lead(self, *partitions: str) -> None:
        split = (partition.rpartition("-") for partition in partitions)
        self._world.catalogue.lead([(topic, int(number)) for topic, _, number in split])

    def _producer_ids(self) -> str:
        block = self._world.catalogue.allocate_producer_ids()
        return f"ids {block.start} to {block.stop - 1}"

    def _epochs(self, topic: str) -> str:
        partitions = self._world.catalogue.topics[topic].partitions
        return f"told: {' '.join(str(self._world.catalogue.announced_epoch(each)) for each in partitions)}"

    def _stop(self) -> str:
        self._world.stop()
        return self._topics()

    def _kill(self) -> str:
        self._world.kill()
        return self._topics()

    def _cut_power(self) -> str:
        self._world.cut_power()
        self._seen = min(self._seen, self._world.records()[-1][0] + 1)
        return self._topics()

    def _fill_disk(self) -> None:
        self._world.files.fail("pwrite", errno.ENOSPC, short=30)

    def _break_disk(self) -> None:
        self._world.files.fail("sync", errno.EIO)

    def _mend_disk(self) -> None:
        self._world.files.heal()

    def _topics(self) -> str:
        topics = self._world.catalogue.topics.values()
        return f"there: {', '.join(f'{topic.name}({len(topic.partitions)})' for topic in topics) or 'nothing'}"

    # --- what was written ---

    def _show_batches(self) -> None:
        data = self._world.log()
        for position, header in iter_batches(data):
            if header.base_offset < self._seen:
                continue
            batch = memoryview(data)[position : position + header.size_in_bytes]
            words = [
                parse_control_key(record.key).name if header.is_control else self._show(record.value)
                for record in iter_records(batch)
            ]
            self._lines.append(f"batch {header.base_offset} of run {header.partition_leader_epoch}: {'; '.join(words)}")
            self._seen = header.next_offset

    def _show(self, value: bytes | None) -> str:
        from barnabas.broker.metadata.image.framing import decode_record

        record: Any = decode_record(value)
        kind = type(record).__name__.removesuffix("Record")
        match kind:
            case "Topic":
                return f"Topic {record.name}"
            case "Partition":
                return f"Partition {record.partition_id} leader={record.leader} epoch={record.leader_epoch}"
            case "PartitionChange":
                return f"PartitionChange {record.partition_id} leader={record.leader}"
            case "Config":
                return f"Config {record.resource_name or 'every-broker'} {record.name}={record.value}"
            case "FeatureLevel":
                return f"FeatureLevel {record.name}={record.feature_level}"
            case "ProducerIds":
                return f"ProducerIds next={record.next_producer_id}"
            case "RegisterBroker":
                return f"RegisterBroker {record.broker_id} fenced={record.fenced}"
        return kind


def _pairs(configs: Any) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(configs.items())) or "nothing"
