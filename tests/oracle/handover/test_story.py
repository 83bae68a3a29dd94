"""A directory changes hands again and again, between this broker and Apache Kafka, with everything in it.

In each turn one broker has the directory: it is asked for all that was acknowledged in the turns before, programs
work with it, its cleaner goes through every compacted topic, those of the coordinators among them, and it is stopped or
killed. Kafka takes metadata checkpoints, too. After each turn `barnabas handover --check` is asked.
"""

from functools import partial
from pathlib import Path

import pytest

from barnabas.client.admin.configs import ConfigChange, ConfigOperation, ResourceType, alter_configs
from barnabas.client.admin.groups import list_groups
from barnabas.client.client import Client
from tests.support.depth import long
from tests.support.files.kafkas_traces import active_segment, cleaned_to, metadata_checkpoints
from tests.support.kafka.handed_over import HandedOverKafka, checked, levels_for
from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.kafka.process import UNCLEAN_ELECTION
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, until
from tests.support.worlds import kafkas_own
from tests.support.worlds.handover import ENDINGS, SETTINGS, STATE, WORDS, HandoverWorld

SHARERS = "sharers"
COORDINATORS_TOPICS = ("__consumer_offsets", "__transaction_state")
ROLLED_AT_ONCE = [
    ConfigChange("segment.ms", ConfigOperation.SET, "1"),
    ConfigChange("min.cleanable.dirty.ratio", ConfigOperation.SET, "0.0"),
]


class Story:
    """A directory, who works with it, and how each broker's turn ends: `stop` or `kill`."""

    def __init__(self, data_dir: Path, end: str, version: str) -> None:
        self.data_dir = data_dir
        self.end = end
        self.version = version
        self.world = HandoverWorld()
        self._kafkas_turns = 0
        self._told: dict[str, list[object]] | None = None
        self._shares = False

    def our_turn(self) -> None:
        settings = SETTINGS | {"metadata.log.max.record.bytes.between.snapshots": 1, "log.cleaner.backoff.ms": 50}
        flags = [f"--feature={name}={level}" for name, level in levels_for(self.version).items()]
        with BrokerProcess(self.data_dir, settings, flags=flags) as broker:
            with Client(broker.address) as client:
                self._have_coordinators_cleaned(client)
                self._take_turn(client)
            self._wait_for_the_cleaner()
            self._end(broker)

    def kafkas_turn(self) -> None:
        with HandedOverKafka(self.data_dir, SETTINGS, kafkas_own.SETTINGS, self.version) as kafka:
            with Client(kafka.address) as client:
                self._is_told_again(client)
                self._have_coordinators_cleaned(client)
                self._take_turn(client)
                self._kafkas_turns += 1
                self._share(client)
                kafkas_own.make(client, self._kafkas_turns)
                rules = self._kafkas_turns  # each is told once it is in force
                until(lambda: len(kafkas_own.told(client)["rules"]) == rules, PATIENCE_S)
                self._told = kafkas_own.told(client)
            self._wait_for_the_cleaner()
            until(lambda: metadata_checkpoints(self.data_dir), PATIENCE_S)
            self._end(kafka)
            expected = [] if self.end == "stop" else [UNCLEAN_ELECTION]
            assert [each for each in kafka.complaints() if each not in expected] == []

    def _have_coordinators_cleaned(self, client: Client) -> None:
        """Their topics are there from the second turn on."""
        for topic in COORDINATORS_TOPICS if self.world.turns else ():
            alter_configs(client, ResourceType.TOPIC, topic, ROLLED_AT_ONCE)

    def _take_turn(self, client: Client) -> None:
        if self.world.turns:
            self.world.check(client)
        else:
            self.world.begin(client)
        self.world.work(client)
        if self.world.turns == 1 and self.end == "stop":
            self.world.begin_again_and_again(client)

    def _end(self, broker: Server) -> None:
        getattr(broker, self.end)()
        found = checked(self.data_dir, self.version)["findings"]
        levels = [each["level"] for each in found]
        assert levels.count("warning") == 1, found  # the transaction that is prepared
        checks = [each["check"] for each in found]
        assert (checks.count("stop"), checks.count("security")) == (self.end == "kill", self._told is not None), found

    def _is_told_again(self, client: Client) -> None:
        """What only Kafka understands is as it was made."""
        if self._told is not None:
            until(lambda: kafkas_own.told(client) == self._told, PATIENCE_S)
        if self._shares:
            until(lambda: SHARERS in [group.group_id for group in list_groups(client, types=["share"])], PATIENCE_S)

    def _share(self, client: Client) -> None:
        """A share group, where the directory is one of Kafka's: its records are among the committed offsets."""
        if self._kafkas_turns == self.world.turns == 1:
            kafkas_own.join_share_group(client, SHARERS, WORDS)
            self._shares = True

    def _wait_for_the_cleaner(self) -> None:
        """Until it has cleaned all it can: it stops before the active segment, and before an open transaction."""
        until(lambda: cleaned_to(self.data_dir, STATE, 0) == active_segment(self.data_dir, STATE, 0), PATIENCE_S)
        until(lambda: cleaned_to(self.data_dir, ENDINGS, 0) > 0, PATIENCE_S)
        for topic in COORDINATORS_TOPICS if self._kafkas_turns > 1 or self.world.turns > 1 else ():
            until(partial(self._is_cleaned, topic), PATIENCE_S)

    def _is_cleaned(self, topic: str) -> bool:
        return any(cleaned_to(self.data_dir, topic, number) for number in (0, 1))


@pytest.mark.parametrize(
    ("first", "end", "version"),
    [
        long("our_turn", "stop", KAFKA_VERSION),
        ("our_turn", "kill", KAFKA_VERSION),
        ("kafkas_turn", "stop", KAFKA_VERSION),
        pytest.param("kafkas_turn", "kill", KAFKA_VERSION, marks=pytest.mark.long),
        pytest.param("our_turn", "stop", "4.3.1", marks=pytest.mark.long),
        pytest.param("kafkas_turn", "kill", "4.3.1", marks=pytest.mark.long),
    ],
)
def test_a_directory_changes_hands_and_everybody_goes_on(tmp_path: Path, first: str, end: str, version: str) -> None:
    story = Story(tmp_path / "data", end, version)
    turns = ("our_turn", "kafkas_turn", "our_turn", "kafkas_turn")
    for turn in turns if first == "our_turn" else turns[1:]:
        getattr(story, turn)()
