"""What a worker is spared."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pyspark_barnabas import workers


@pytest.fixture(autouse=True)
def _thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(workers, "_kept", False)
    yield
    gc.unfreeze()


def test_what_is_loaded_is_no_longer_looked_through_for_garbage() -> None:
    before = len(gc.get_objects())
    workers.keep_what_is_loaded()
    assert len(gc.get_objects()) < before / 10


def test_garbage_made_afterwards_is_collected_and_nothing_is_kept_a_second_time() -> None:
    workers.keep_what_is_loaded()
    kept = gc.get_freeze_count()
    cycle: list[object] = []
    cycle.append(cycle)
    workers.keep_what_is_loaded()
    assert gc.get_freeze_count() <= kept  # some of what was kept may be over by now
    del cycle
    assert gc.collect() >= 1
