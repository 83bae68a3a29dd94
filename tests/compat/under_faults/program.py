"""A program that plays scenarios with a client of another language: one process, several scenarios at a time.

"NUMBER SCENARIO ADDRESS" on its stdin asks for one, with tabs between the words; "NUMBER OUTCOME" on its stdout is the
answer. What a scenario and its outcome are is told in librdkafka.py.
"""

import itertools
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from tests.compat.under_faults.careful import by_api

_SCENARIOS = by_api("produce", "fetch", "initProducerId", "transaction", "joinGroup", "offsetCommit")
_LIMIT_S = 240
_END_S = 60


class Program:
    """command: gives what starts the process; that happens with the first scenario."""

    def __init__(self, command: Callable[[], list[str]]) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._numbers = itertools.count()
        self._playing: dict[int, Future[str]] = {}
        self._lock = threading.Lock()

    def scenarios(self) -> dict[str, Callable[[str], str]]:
        """By API, what plays its scenario against the broker at an address."""
        return {api: partial(self.play, scenario) for api, scenario in _SCENARIOS.items()}

    def play(self, scenario: str, address: str) -> str:
        """How it went; any thread may ask."""
        outcome: Future[str] = Future()
        with self._lock:
            process = self._process = self._process or self._started()
            assert process.stdin is not None
            number = next(self._numbers)
            self._playing[number] = outcome
            process.stdin.write(f"{number}\t{scenario}\t{address}\n")
            process.stdin.flush()
        return outcome.result(_LIMIT_S)

    def close(self) -> None:
        """End the process, if it was started."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            assert self._process.wait(_END_S) == 0

    def _started(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(self._command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        return process

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                number, outcome = line.rstrip("\n").split("\t")
                self._playing.pop(int(number)).set_result(outcome)
        for unanswered in list(self._playing.values()):
            unanswered.set_exception(AssertionError("the program has ended in the middle of the scenario"))
