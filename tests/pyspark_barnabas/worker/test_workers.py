"""What a worker is spared."""

import ctypes
import gc
import platform
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from pyspark_barnabas.worker import workers

_ALLOCATES = """
import ctypes
import resource
from pyspark_barnabas.worker.workers import keep_what_is_freed

PR_SET_THP_DISABLE = 41  # huge pages are few, and would hide whether there are new ones
assert ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0

def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [b"x" * (18 << 20) for _ in range(3)]
    del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

new_pages(), new_pages()
print(new_pages())
assert keep_what_is_freed()
new_pages()
print(new_pages())
"""


@pytest.fixture(autouse=True)
def _thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(workers, "_modules", 0)
    gc.unfreeze()  # the tests that were found: tests/conftest.py
    yield
    gc.freeze()


def test_loaded_objects_are_excluded_from_garbage_collection() -> None:
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


def test_imported_modules_of_a_task_stay_loaded_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    workers.keep_what_is_loaded()
    module = ModuleType("imported_by_a_task")
    content: list[list[object]] = [[] for _ in range(1000)]
    module.__dict__["content"] = content
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert any(each is content for each in gc.get_objects())
    workers.keep_what_is_loaded()
    assert not any(each is content for each in gc.get_objects())


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the setting")
def test_memory_freed_by_a_reading_task_is_reused_by_the_next_one() -> None:
    by_default, kept = map(int, subprocess.check_output([sys.executable, "-c", _ALLOCATES], text=True).split())
    assert by_default > 1_000
    assert kept < 100


def test_a_library_of_c_without_the_setting_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not workers.keep_what_is_freed.__wrapped__()
