"""What a worker is spared."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from pyspark_barnabas import workers


@pytest.fixture(autouse=True)
def _thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(workers, "_modules", 0)
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


def test_what_a_task_has_imported_is_kept_when_the_next_one_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    workers.keep_what_is_loaded()
    module = ModuleType("imported_by_a_task")
    content: list[list[object]] = [[] for _ in range(1000)]
    module.__dict__["content"] = content
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert any(each is content for each in gc.get_objects())
    workers.keep_what_is_loaded()
    assert not any(each is content for each in gc.get_objects())
