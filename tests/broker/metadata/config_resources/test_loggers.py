"""The broker's loggers: which there are, how their levels are read and changed while it runs, and what is refused."""

import logging
import re
from collections.abc import Iterator

import pytest

from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.broker.metadata.config_resources.loggers import PARTS, alter_loggers, levels
from barnabas.broker.runtime.log_lines import logger
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.own_logging import kept_logging
from tests.support.source_tree import ROOT

NODE = 1
CONFIG, REQUEST = ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST
NOT_HERE = "is not allowed for the BROKER_LOGGER resource"
NO_LEVEL = (
    "Cannot set the log level of kafka to LOUD as it is not a supported log level. "
    "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"
)


@pytest.fixture(autouse=True)
def started() -> Iterator[None]:
    """The levels that a start sets; they are as they were afterwards."""
    with kept_logging():
        logging.getLogger().setLevel("INFO")
        logging.getLogger("barnabas").setLevel("INFO")
        yield
        for part in PARTS:
            logger(part).setLevel(logging.NOTSET)


def alter(*alterations: tuple[str, int, str | None], resource: str = "1", validate_only: bool = False) -> None:
    alter_loggers(resource, [Alteration(*each) for each in alterations], NODE, validate_only=validate_only)


def test_every_logger_of_the_sources_is_known() -> None:
    found = {
        name
        for folder in ("broker", "barnabas")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r'\blogger\("([\w.]+)"\)', path.read_text(encoding="utf-8"))
    }
    assert found == set(PARTS)


def test_a_part_has_the_level_of_the_broker_until_it_has_its_own() -> None:
    assert levels()["kafka.net"] == "INFO"
    alter(("kafka", AlterConfigOp.SET, "ERROR"))
    assert (levels()["kafka"], levels()["kafka.net"], levels()["root"]) == ("ERROR", "ERROR", "INFO")
    alter(("kafka.net", AlterConfigOp.SET, "DEBUG"))
    assert logger("net").isEnabledFor(logging.DEBUG)
    assert not logger("api").isEnabledFor(logging.WARNING)
    alter(("kafka.net", AlterConfigOp.DELETE, None), ("kafka", AlterConfigOp.DELETE, None))
    assert (levels()["kafka"], levels()["kafka.net"]) == ("INFO", "INFO")


def test_a_broker_whose_level_is_taken_back_has_the_roots() -> None:
    alter(("kafka", AlterConfigOp.DELETE, None), ("root", AlterConfigOp.SET, "FATAL"))
    assert levels()["kafka.coordinator"] == "FATAL"
    assert not logger("coordinator").isEnabledFor(logging.ERROR)


@pytest.mark.parametrize("level", ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"])
def test_a_level_is_reported_as_it_was_set(level: str) -> None:
    alter(("kafka.storage", AlterConfigOp.SET, level))
    assert levels()["kafka.storage"] == level


def test_a_level_between_kafkas_is_reported_as_the_next_one_above() -> None:
    logger("http").setLevel(25)
    logger("api").setLevel(60)
    assert (levels()["kafka.http"], levels()["kafka.api"]) == ("WARN", "FATAL")


def test_validate_only_changes_nothing() -> None:
    alter(("kafka", AlterConfigOp.SET, "ERROR"), validate_only=True)
    assert levels()["kafka"] == "INFO"


@pytest.mark.parametrize(
    ("alteration", "code", "sentence"),
    [
        (("kafka.nothing", 0, "INFO"), CONFIG, "Logger kafka.nothing does not exist!"),
        (("kafka.nothing", 1, None), CONFIG, "Logger kafka.nothing does not exist!"),
        (("kafka", 0, "LOUD"), CONFIG, NO_LEVEL),
        (("root", 1, None), REQUEST, "Removing the log level of the root logger is not allowed"),
        (("kafka", 2, "INFO"), REQUEST, f"APPEND operation {NOT_HERE}"),
        (("kafka.nothing", 3, "INFO"), REQUEST, f"SUBTRACT operation {NOT_HERE}"),
        (("kafka", 9, "INFO"), REQUEST, f"Unknown operation type 9 {NOT_HERE}"),
        (("kafka", 0, None), REQUEST, "Null value not supported for : kafka"),
    ],
)
def test_one_wrong_alteration_has_none_made(
    alteration: tuple[str, int, str | None], code: ErrorCode, sentence: str
) -> None:
    with pytest.raises(KafkaError) as refusal:
        alter(("kafka.net", AlterConfigOp.SET, "DEBUG"), alteration)
    assert (refusal.value.code, refusal.value.message) == (code, sentence)
    assert levels()["kafka.net"] == "INFO"


@pytest.mark.parametrize(
    ("resource", "sentence"),
    [
        ("2", "Unexpected node id. Expected 1, but received 2"),
        ("", "Node id must be an integer, but it is: "),
        ("x", "Node id must be an integer, but it is: x"),
        ("--1", "Node id must be an integer, but it is: --1"),
        ("2147483648", "Node id must be an integer, but it is: 2147483648"),
        ("1" * 500, "Node id must be an integer, but it is: " + "1" * 500),
        ("0" * 500 + "7", "Unexpected node id. Expected 1, but received 7"),
        ("-7", "Unexpected node id. Expected 1, but received -7"),
    ],
)
def test_another_nodes_loggers_are_refused(resource: str, sentence: str) -> None:
    with pytest.raises(KafkaError) as refusal:
        alter(("kafka", AlterConfigOp.SET, "DEBUG"), resource=resource)
    assert (refusal.value.code, refusal.value.message) == (ErrorCode.INVALID_REQUEST, sentence)
