"""Values as long as requests carry them, and what appending makes of them: refused as by Apache Kafka, or kept."""

import pytest

from barnabas.broker.metadata.catalogue.config_alterations import AlterConfigOp
from barnabas.protocol.errors import ErrorCode
from tests.support import requests
from tests.support.worlds.catalogue_api import CatalogueApi

LONGEST = 0x7FFF
TOPIC, BROKER = 2, 4
TOO_LONG = "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes."
LIST = "leader.replication.throttled.replicas"


@pytest.fixture
def api() -> CatalogueApi:
    return CatalogueApi(topics={"a": 1})


def alter(
    api: CatalogueApi, kind: int, resource: str, key: str, operation: AlterConfigOp, value: str
) -> tuple[int, str]:
    (answer,) = api.ask(requests.alter_config(kind, resource, key, value, operation)).responses
    return answer.error_code, answer.error_message or ""


def test_a_list_grows_no_longer_than_a_record_holds(api: CatalogueApi) -> None:
    own = api.services.catalogue.topics["a"].configs
    long = ",".join(f"{number}:1" for number in range(6_000))[: LONGEST - 1].rpartition(",")[0]
    assert alter(api, TOPIC, "a", LIST, AlterConfigOp.SET, long) == (ErrorCode.NONE, "")
    assert alter(api, TOPIC, "a", LIST, AlterConfigOp.APPEND, "99999:99999") == (ErrorCode.INVALID_CONFIG, TOO_LONG)
    assert own[LIST] == long
    assert alter(api, TOPIC, "a", LIST, AlterConfigOp.APPEND, "0:1") == (ErrorCode.NONE, "")  # it is there already
    assert alter(api, TOPIC, "a", LIST, AlterConfigOp.SUBTRACT, "0:1") == (ErrorCode.NONE, "")


def test_a_number_of_thousands_of_digits_is_none(api: CatalogueApi) -> None:
    code, sentence = alter(api, TOPIC, "a", "retention.ms", AlterConfigOp.SET, "9" * 5_000)
    assert code == ErrorCode.INVALID_CONFIG
    assert sentence.startswith("Invalid value 999")


def test_zeros_before_a_number_do_not_count(api: CatalogueApi) -> None:
    minus_one = "-" + "0" * 5_000 + "1"
    assert alter(api, BROKER, "", "log.retention.ms", AlterConfigOp.SET, minus_one) == (ErrorCode.NONE, "")
    assert api.services.config.integer("log.retention.ms") == -1
