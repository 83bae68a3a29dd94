"""`ledger watch`, while brokers go away and come back."""

from collections.abc import Iterator

import pytest

from barnabas.client.client import Client
from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.cli import watching
from pyspark_barnabas.cli.sink_state import Look, StoredRecord
from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.ledger import Run

EMPTY = Look("p", "__p.ledger", 1_000)
BEGUN = Look("p", "__p.ledger", 9_000, (StoredRecord(0, 8_000, Run("q", "r", RunToken(1, 0))),))
AWAY = KafkaError(ErrorCode.NETWORK_EXCEPTION, "nobody answers")


def test_brokers_that_are_away_are_reported_once_each_time_and_watching_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: Iterator[Look | BaseException] = iter([EMPTY, AWAY, AWAY, BEGUN, AWAY, KeyboardInterrupt()])

    def look(*arguments: object) -> Look:
        found = next(seen)
        if isinstance(found, BaseException):
            raise found
        return found

    said: list[str] = []
    monkeypatch.setattr(watching, "look", look)
    with pytest.raises(KeyboardInterrupt):
        watching.watch(Client("127.0.0.1:1"), "p", 1, said.append)
    assert [line.split()[1] for line in said] == ["cannot", "run", "cannot"]
    assert "nobody answers" in said[0]


def test_a_first_look_that_fails_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*arguments: object) -> Look:
        raise AWAY

    monkeypatch.setattr(watching, "look", look)
    with pytest.raises(KafkaError, match="nobody answers"):
        watching.watch(Client("127.0.0.1:1"), "p", 1, print)
