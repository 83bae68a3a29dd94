"""What the machine gives a broker, judged."""

import sys

import pytest

from barnabas.broker.cli.doctor.finding import Level
from barnabas.broker.cli.doctor.machine import examine_clock, examine_descriptors, examine_python, examine_volume
from barnabas.storage.disk.files import Volume

GIB, MIB = 1 << 30, 1 << 20


@pytest.mark.parametrize(("limit", "level"), [(64, "problem"), (255, "problem"), (512, "warning"), (4096, "ok")])
def test_few_descriptors_are_reported_with_what_there_is_room_for(limit: int, level: str) -> None:
    found = examine_descriptors(limit)
    assert found.level == level
    assert found.text.startswith(f"{limit} descriptors: room for ")


@pytest.mark.parametrize(
    ("free", "level", "text"),
    [(10 * MIB, "problem", "10.0 MiB of 20.0 GiB"), (500 * MIB, "warning", "500.0 MiB of"), (2 * GIB, "ok", "2.0 GiB")],
)
def test_a_full_disk_is_reported(free: int, level: str, text: str) -> None:
    found = examine_volume("/data", Volume(20 * GIB, free))
    assert (found.level, found.text.startswith(text)) == (level, True)


def test_a_clock_that_went_back_is_reported() -> None:
    now_s = 1_800_000_000.0
    levels = [examine_clock(now_s, newest_s).level for newest_s in (None, now_s - 10, now_s + 10, now_s + 3600)]
    assert levels == [Level.OK, Level.OK, Level.OK, Level.WARNING]
    assert "3600 s from now" in examine_clock(now_s, now_s + 3600).text
    assert examine_clock(0, None).level is Level.PROBLEM


def test_a_python_without_the_quick_parts_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert examine_python().level is Level.OK
    monkeypatch.setattr("barnabas.broker.cli.doctor.machine.find_spec", lambda name: None)
    found = examine_python()
    assert (found.level, "without uvloop, crc32c" in found.text) == (Level.WARNING, True)
    assert found.text.startswith(f"Python {sys.version_info[0]}.")
