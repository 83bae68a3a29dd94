"""Kafka Streams over compacted topics: tables that are restored from their changelogs when their directory is gone."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clients.word_count import ENDED_BY_SIGTERM
from tests.support.processes.server import Server
from tests.support.stack.balances import APPLICATION, CHANGELOG, Accounts, Tables
from tests.support.waiting import PATIENCE_S, all_the_while, until


def _writing(accounts: Accounts) -> AbstractContextManager[None]:
    """Payments and names are written all the while."""
    return all_the_while(lambda: accounts.write(5))


def _goes_on(program: Tables) -> None:
    """Wait until what the tables hold has changed twice."""
    shown: list[dict[str, dict[str, str]]] = []

    def has_changed_twice() -> bool:
        now = program.shown()
        if now is not None and now not in shown[-1:]:
            shown.append(now)
        return len(shown) > 2

    until(has_changed_twice, PATIENCE_S)


def _check(server: Server, accounts: Accounts, state: Path) -> None:
    """A program that finds no state of its own restores what must be there."""
    with Tables(server, state) as program:
        until(lambda: program.shown() == accounts.expected, PATIENCE_S)
        assert program.stop() == ENDED_BY_SIGTERM
    accounts.check_topics()


def test_tables_are_restored_over_kills_of_program_and_broker(server: Server, tmp_path: Path) -> None:
    accounts = Accounts(server, seed=1)
    with _writing(accounts):
        with Tables(server, tmp_path / "first") as program:
            _goes_on(program)
            server.kill()
            server.start()
            _goes_on(program)
            program.kill()
        with Tables(server, tmp_path / "second") as program:
            _goes_on(program)
            server.kill()
            program.kill()
            server.start()
    _check(server, accounts, tmp_path / "third")
    topics = AdminClient({"bootstrap.servers": server.address}).list_topics(timeout=10).topics
    assert [name for name in topics if name.startswith(APPLICATION)] == [CHANGELOG]  # the other table needs none


@pytest.mark.long
def test_they_are_for_long(server: Server, tmp_path: Path, seed: int, rounds: int) -> None:
    accounts = Accounts(server, seed)
    for number in range(4 * rounds):
        with _writing(accounts), Tables(server, tmp_path / f"state {number}") as program:
            _goes_on(program)
            server.kill()
            if number % 2:
                program.kill()
            server.start()
            if not number % 2:
                _goes_on(program)
                program.kill()
        _check(server, accounts, tmp_path / f"restored {number}")
