"""Long work (storage/steps.py) run at once, where a test has no event loop."""

from typing import TypeVar

from barnabas.storage.steps import Work

T = TypeVar("T")


def finish_work(work: Work[T]) -> T:
    """Run all of the work at once, with what it yields for a thread, and return the result."""
    failure: Exception | None = None
    while True:
        try:
            paused = next(work) if failure is None else work.throw(failure)
        except StopIteration as stop:
            result: T = stop.value
            return result
        failure = None
        if not isinstance(paused, int):
            try:
                paused()
            except Exception as raised:  # any error is thrown into the work
                failure = raised
