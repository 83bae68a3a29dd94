"""After a kill all partitions are recovered in the background, and it is told how far that is."""

import logging

import pytest

from barnabas.broker.http.broker_view import awaited
from barnabas.broker.http.pages import Page, Pages
from barnabas.broker.insight.inspection.logs import Recovering, refused, still_recovering
from barnabas.broker.partitions.recovery_pass import FIRST_LOGGED_MS, RecoveryProgress
from barnabas.protocol.errors import KafkaError
from tests.support.worlds.broker import BrokerWorld, settle, until
from tests.support.worlds.killed_partitions import killed

LONG = 700


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.storage.recovery.opening.PAUSE_AFTER", 64)


async def until_recovered(world: BrokerWorld) -> None:
    await until(lambda: world.broker.recovery.progress is None)
    await settle()


async def test_every_partition_is_recovered_and_closed_again() -> None:
    world = await killed(LONG, 1, LONG)
    await world.broker.start()
    assert world.broker.recovery.progress is not None
    await until_recovered(world)
    assert world.services.partitions.directory.unrecovered == []
    assert not list(world.services.partitions.open_logs())
    await world.close()
    assert ".kafka_cleanshutdown" in [entry.name for entry in world.files.entries("/data")]


async def test_after_a_clean_stop_there_is_nothing_to_do() -> None:
    first = await killed(LONG)
    await first.broker.start()
    await until_recovered(first)
    await first.close()
    world = BrokerWorld(files=first.files)
    before = len(world.files.calls)
    await world.broker.start()
    await settle()
    assert world.broker.recovery.progress is None
    assert not [call for call in world.files.calls[before:] if "/t-" in call.path]


async def test_one_that_is_requested_meanwhile_stays_open() -> None:
    world = await killed(LONG, 1)
    world.services.partitions.get("t", 1)
    await world.broker.start()
    await until_recovered(world)
    assert [log.name for log in world.services.partitions.open_logs()] == ["t-1"]


async def test_it_is_reported_when_it_takes_longer_than_a_second(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "barnabas")
    world = await killed(LONG, LONG)
    await world.broker.start()
    world.clock.advance(FIRST_LOGGED_MS - 1)
    assert "recovery continues" not in caplog.text
    world.clock.advance(1)
    assert "recovery continues partitions=0/2" in caplog.text
    await until_recovered(world)
    assert "recovery ended partitions=2/2" in caplog.text
    assert f"took_ms={FIRST_LOGGED_MS}" in caplog.text


async def test_one_that_cannot_be_recovered_is_counted_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    world = await killed(1, 1)
    file = world.files.open("/data/t-0/leader-epoch-checkpoint", create=True)
    file.pwrite(b"not a checkpoint", 0)
    file.close()
    await world.broker.start()
    await until_recovered(world)
    for _ in range(3):
        with pytest.raises(KafkaError):
            world.services.partitions.get("t", 0)
    assert caplog.text.count("could not open partition") == 1
    assert list(world.services.partitions.failed.reasons) == [("t", 0)]
    assert world.services.partitions.get("t", 1).log_end_offset == 1


async def test_remaining_work_is_in_the_metrics_and_on_the_ready_page() -> None:
    world = await killed(LONG, 1)
    await world.broker.start()
    pages = Pages(world.clock, world.broker.unready_reason, no_metrics, nothing_cleaned, lambda: awaited(world.broker))
    assert (await pages.page("/ready")).body == b"ready\n0 of 2 partitions are recovered\n"
    assert still_recovering(world.services) == {"/data": Recovering(2, 0)}
    await until_recovered(world)
    assert (await pages.page("/ready")).body == b"ready\n"
    assert still_recovering(world.services) == {"/data": Recovering(0, 0)}
    assert refused(world.services) == 0


async def no_metrics() -> bytes:
    return b""


def nothing_cleaned(_query: str) -> Page:
    return Page(404, b"")


async def test_a_start_states_what_it_waits_for() -> None:
    world = await killed(LONG, 1)
    assert world.broker.unready_reason() == "the broker is starting: 0 of 2 partitions are recovered"
    await world.broker.start()
    assert world.broker.unready_reason() is None
    await world.close()
    assert world.broker.unready_reason() == "the broker is stopping"


def test_progress_names_what_could_not_be_recovered() -> None:
    assert str(RecoveryProgress(5, 2, 1, 100)) == "2 of 5 partitions are recovered, 1 could not be"
