"""Kafka Streams with exactly_once_v2 over SASL_SSL, as a user with the rights of docs/security/clients.md and no more.

A right that is taken back ends the program with the error that names it, and nothing is counted twice or lost.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.compat.tools import Tools
from tests.support.clients.word_count import ENDED_BY_SIGTERM, SETTINGS, WordCount
from tests.support.security.grants import Grant, Grants
from tests.support.security.secured import SASL_SSL, SecuredServer, secured_kind
from tests.support.waiting import PATIENCE_S, until

USER = "streams"
APPLICATION = "exact"
READ_LINES = Grant("READ", "TOPIC", f"{APPLICATION}-lines")
WRITE_COUNTS = Grant("WRITE", "TOPIC", f"{APPLICATION}-counts")
WRITE_TRANSACTIONS = Grant("WRITE", "TRANSACTIONAL_ID", f"{APPLICATION}-*")
NEEDED = (
    READ_LINES,
    WRITE_COUNTS,
    *(Grant(each, "TOPIC", f"{APPLICATION}-counts-*") for each in ("CREATE", "READ", "WRITE", "DELETE")),
    Grant("READ", "GROUP", APPLICATION),
    WRITE_TRANSACTIONS,
)


class Secured(NamedTuple):
    server: SecuredServer
    address: str
    settings: Path
    grants: Grants


@pytest.fixture(scope="module")
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("secured")
    kind = secured_kind(request.config.getoption("--against"))
    with kind(directory / "data", SETTINGS, listeners=(SASL_SSL,), users=(USER,)) as server:
        settings = directory / "streams.properties"
        properties = server.security.client_properties(USER)
        settings.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        yield Secured(server, f"127.0.0.1:{server.ports[SASL_SSL]}", settings, Grants(server.port, USER))
        assert "Traceback" not in server.log, server.log


def _has_told(count: WordCount, words: int) -> bool:
    return sum(count.counted().values()) > words


def test_a_word_count_with_the_least_rights_is_exact_whatever_is_taken_back(
    secured: Secured, tools: Tools, tmp_path: Path
) -> None:
    way = (secured.address, secured.settings)
    count = WordCount(secured.server, tools, APPLICATION, "exactly_once_v2", secured=way)
    secured.grants.give(NEEDED)
    with count.writing():
        for right, error in (
            (READ_LINES, "topicauthorization"),
            (WRITE_COUNTS, "topicauthorization"),
            (WRITE_TRANSACTIONS, "transactionalidauthorization"),
        ):
            with count.run(tmp_path / "state") as program:
                told = sum(count.counted().values())
                until(partial(_has_told, count, told + 100), PATIENCE_S)
                secured.grants.take([right])
                assert program.end() == 1
                assert error in program.errors.replace(" ", "").lower()  # which request fails first, words it
            secured.grants.give([right])
    with count.run(tmp_path / "state") as program:
        until(lambda: count.counted() == count.written, PATIENCE_S)
        assert program.stop() == ENDED_BY_SIGTERM
    assert count.counted() == count.written
