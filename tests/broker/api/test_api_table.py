"""The API table is the one truth: complete, Kafka's ranges, and a handler behind every row."""

from importlib import import_module

import pytest

from barnabas.broker.api.api_table import API_TABLE, ApiRow, offered_apis, table_for
from barnabas.broker.config import BrokerConfig
from barnabas.protocol.registry import ApiKey, spec


def test_each_api_is_there_once_in_order_of_its_key() -> None:
    keys = [row.key for row in API_TABLE]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("row", API_TABLE, ids=lambda row: row.key.api_name)
def test_the_versions_served_are_all_of_kafkas(row: ApiRow) -> None:
    kafka = spec(row.key)
    assert (row.min_version, row.max_version) == (kafka.min_version, kafka.max_version)


@pytest.mark.parametrize("row", API_TABLE, ids=lambda row: row.key.api_name)
def test_there_is_a_handler(row: ApiRow) -> None:
    assert callable(import_module(f"barnabas.broker.api.handlers.{row.handler}").handle)


def test_the_offered_versions_are_those_of_the_table_and_produce_from_0() -> None:
    offered = {each.api_key: (each.min_version, each.max_version) for each in offered_apis()}
    assert offered.keys() == {row.key for row in API_TABLE}
    assert offered[ApiKey.PRODUCE] == (0, 13)
    assert offered[ApiKey.FETCH] == (4, 18)


def test_unreleased_versions_are_offered_on_request() -> None:
    newest = {ApiKey.INIT_PRODUCER_ID: 6}
    table = table_for(BrokerConfig({"transaction.two.phase.commit.enable": "true"}))
    assert {row.key: row.max_version for row in table} == {row.key: row.key.max_version for row in table} | newest
    assert table_for(BrokerConfig({})) is API_TABLE
