"""AlterClientQuotas and DescribeClientQuotas: what is set is found again, after any restart; and the words of refusals.

Codes are held equal to Apache Kafka's by tests/golden/probes/quotas.txt.
"""

from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from barnabas.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from tests.support.worlds.catalogue_api import CatalogueApi

Entity = dict[str, str | None]
ALICE: Entity = {"user": "alice"}
DEFAULT_OF_BOTH: Entity = {"user": None, "client-id": None}


@pytest.fixture
def api() -> CatalogueApi:
    return CatalogueApi()


def entry(entity: Entity, **ops: float | None) -> AlterClientQuotasRequestEntryData:
    return AlterClientQuotasRequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops.items()],
    )


def alter(api: CatalogueApi, *entries: AlterClientQuotasRequestEntryData, validate_only: bool = False) -> list[Any]:
    answer = api.ask(AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only))
    return [(each.error_code, each.error_message) for each in answer.entries]


def described(api: CatalogueApi, *components: ComponentData) -> list[Any]:
    answer = api.ask(DescribeClientQuotasRequest(components=list(components), strict=False))
    assert answer.error_code == ErrorCode.NONE
    return [
        (
            {part.entity_type: part.entity_name for part in each.entity},
            {value.key: value.value for value in each.values},
        )
        for each in answer.entries
    ]


GOOD = [(ErrorCode.NONE, None)]


def test_quotas_outlive_a_restart_and_a_snapshot() -> None:
    api = CatalogueApi({"metadata.log.max.record.bytes.between.snapshots": "1"})
    assert alter(api, entry(ALICE, producer_byte_rate=1000.0, request_percentage=0.5)) == GOOD
    assert alter(api, entry(DEFAULT_OF_BOTH, consumer_byte_rate=7.0)) == GOOD
    assert alter(api, entry({"ip": None}, connection_creation_rate=9.0)) == GOOD
    assert alter(api, entry(ALICE, request_percentage=None)) == GOOD
    told = described(api)
    assert told == [
        (ALICE, {"producer_byte_rate": 1000.0}),
        (DEFAULT_OF_BOTH, {"consumer_byte_rate": 7.0}),
        ({"ip": None}, {"connection_creation_rate": 9.0}),
    ]
    for _ in range(2):
        api.restart()
        assert described(api) == told


def test_an_entity_without_quotas_is_removed(api: CatalogueApi) -> None:
    alter(api, entry(ALICE, producer_byte_rate=1000.0))
    alter(api, entry(ALICE, producer_byte_rate=None))
    assert described(api) == []
    api.restart()
    assert described(api) == []


def test_an_empty_change_writes_nothing(api: CatalogueApi) -> None:
    alter(api, entry(ALICE, producer_byte_rate=1000.0))
    told: list[int] = []
    api.services.catalogue.client_quotas.when_changed.append(lambda: told.append(1))
    before = api.services.catalogue.features_epoch
    assert alter(api, entry(ALICE, producer_byte_rate=1000.0, consumer_byte_rate=None)) == GOOD
    assert alter(api, entry(ALICE, producer_byte_rate=5.0), validate_only=True) == GOOD
    assert (api.services.catalogue.features_epoch, told) == (before, [])
    alter(api, entry(ALICE, producer_byte_rate=5.0))
    assert told == [1]


def test_one_that_is_wrong_keeps_no_other_back(api: CatalogueApi) -> None:
    outcomes = alter(api, entry(ALICE, producer_byte_rate=0.0), entry({"user": "bob"}, producer_byte_rate=1.0))
    assert [code for code, _ in outcomes] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert described(api) == [({"user": "bob"}, {"producer_byte_rate": 1.0})]


def test_the_first_change_of_an_entity_named_twice_is_made_and_the_answer_says_duplicate(api: CatalogueApi) -> None:
    outcomes = alter(api, entry(ALICE, producer_byte_rate=1.0), entry(ALICE, producer_byte_rate=2.0))
    assert outcomes == [
        (ErrorCode.INVALID_REQUEST, "Ignoring duplicate entity ClientQuotaEntity(entries={user=alice})")
    ]
    assert described(api) == [(ALICE, {"producer_byte_rate": 1.0})]


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        (entry({}, producer_byte_rate=1.0), "Invalid empty client quota entity"),
        (entry({"topic": "t"}, producer_byte_rate=1.0), "Unhandled client quota entity type: topic"),
        (entry({"user": ""}, producer_byte_rate=1.0), "Empty user not supported"),
        (entry({"ip": "nowhere.invalid"}, connection_creation_rate=1.0), "nowhere.invalid is not a valid IP or"),
        (entry({"ip": "::1", "user": "a"}, producer_byte_rate=1.0), "Invalid quota entity combination"),
        (entry(ALICE, bytes=1.0), "Invalid configuration key bytes"),
        (entry(ALICE, producer_byte_rate=float("nan")), "Quota producer_byte_rate must be greater than 0"),
        (entry(ALICE, producer_byte_rate=0.5), "producer_byte_rate cannot be a fractional value."),
        (entry(ALICE, producer_byte_rate=1e19), "Proposed value for producer_byte_rate is too large for a LONG."),
    ],
)
def test_a_refusal_states_what_is_wrong(
    api: CatalogueApi, wish: AlterClientQuotasRequestEntryData, sentence: str
) -> None:
    ((code, message),) = alter(api, wish)
    assert code == ErrorCode.INVALID_REQUEST
    assert message.startswith(sentence)
    assert described(api) == []


def test_a_request_for_too_many_changes_is_refused_as_a_whole(api: CatalogueApi) -> None:
    entries = [entry({"user": f"u{number}"}, producer_byte_rate=1.0) for number in range(10_001)]
    outcomes = alter(api, *entries)
    assert {code for code, _ in outcomes} == {ErrorCode.POLICY_VIOLATION}
    assert described(api) == []


def test_a_disk_that_takes_nothing_leaves_the_quotas_as_they_were(api: CatalogueApi) -> None:
    api.world.files.fail("pwrite", 28)
    ((code, _),) = alter(api, entry(ALICE, producer_byte_rate=1.0))
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert described(api) == []
