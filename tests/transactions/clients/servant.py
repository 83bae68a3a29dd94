"""The steps of tests/transactions/model.py for the clients that are used from Python, each a process with this loop."""

import sys
import traceback
from collections.abc import Callable
from typing import Protocol


class Transactional(Protocol):
    """A producer whose transactions are initialised; see the steps."""

    def begin(self) -> None: ...
    def send(self, topic: str, partition: int, value: bytes) -> None: ...
    def copy(self, group: str, source: str, target: str, count: int) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


def serve(open_producer: Callable[[str, str], Transactional], is_fenced: Callable[[Exception], bool]) -> None:
    """Obey until stdin ends. is_fenced: whether the client says that another instance has taken over."""
    producers: dict[str, Transactional] = {}

    def obey(step: str, handle: str, words: list[str]) -> None:
        if step == "open":
            address, transactional_id = words
            producers[handle] = open_producer(address, transactional_id)
        elif step == "send":
            topic, partition, value = words
            producers[handle].send(topic, int(partition), value.encode())
        elif step == "copy":
            group, source, target, count = words
            producers[handle].copy(group, source, target, int(count))
        else:
            getattr(producers[handle], step)()

    for line in sys.stdin:
        step, handle, *words = line.rstrip("\n").split("\t")
        try:
            obey(step, handle, words)
            answer = "ok"
        except Exception as problem:
            answer = "\t".join(("fenced" if is_fenced(problem) else "error", repr(problem)))
            if not is_fenced(problem):
                traceback.print_exc()
        sys.stdout.write(f"{' '.join(answer.splitlines())}\n")
        sys.stdout.flush()
