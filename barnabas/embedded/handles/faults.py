"""The faults of an embedded broker, for its owner: armed, waited for, released, disarmed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from barnabas.embedded.crashes import Crash
from barnabas.embedded.errors import BarnabasError
from barnabas.embedded.handles.misplaced import says_where

_WAIT_S = 0.2
"""The time that one call may wait in the broker: meanwhile other threads cannot call it."""
_DOES = ("error", "drop", "lose_answer", "cut", "delay", "pause", "throttle", "crash")


class FaultHandle:
    """An armed fault. Methods raise BarnabasError once it is disarmed."""

    def __init__(self, ask: Callable[..., Any], name: str) -> None:
        self._ask = ask
        self.name = name

    def __repr__(self) -> str:
        return f"<fault {self.name}>"

    @property
    def fired(self) -> int:
        """How often it fired."""
        return int(self._state()["fired"])

    @property
    def matched(self) -> int:
        """How often something matched."""
        return int(self._state()["matched"])

    @property
    def standing(self) -> int:
        """How many requests or steps wait at its pause."""
        return int(self._state()["standing"])

    def wait(self, times: int = 1, timeout_s: float = 10.0) -> None:
        """Return when it has fired so often; raise BarnabasError if that takes too long."""
        self._wait("fault_wait_fired", times, timeout_s)

    def wait_standing(self, count: int = 1, timeout_s: float = 10.0) -> None:
        """Return when so many wait at its pause; raise BarnabasError if that takes too long."""
        self._wait("fault_wait_standing", count, timeout_s)

    def release(self) -> None:
        """Release everything that waits at its pause."""
        self._ask("fault_release", self.name)

    def disarm(self) -> None:
        """Disarm the fault: what it holds up continues."""
        self._ask("fault_disarm", self.name)

    def _state(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = self._ask("fault_state", self.name)
        return state

    def _wait(self, question: str, count: int, timeout_s: float) -> None:
        left_s = timeout_s
        while True:
            wait_s = min(_WAIT_S, max(0.0, left_s))
            state = self._ask(question, self.name, count, wait_s)
            if state is None:
                return
            left_s -= wait_s
            if left_s <= 0:
                raise BarnabasError(f"fault {self.name}: {state} after {timeout_s:g} s")


class FaultsHandle:
    """The faults to arm in a broker. BarnabasError for a fault that makes no sense. See docs/faults.md."""

    def __init__(
        self,
        ask: Callable[..., Any],
        crash: Callable[[float], Crash | None],
        note_armed: Callable[[Collection[str], bool], None],
    ) -> None:
        """Arm nothing yet. crash: waits so many seconds for the crash of the broker; None where no fault crashed it.

        note_armed: called with the names of faults, and whether the broker is started again if they crash it.
        """
        self._ask = ask
        self._crash = crash
        self._note_armed = note_armed

    def __repr__(self) -> str:
        return "<the faults of a Barnabas>"

    def wait_crashed(self, timeout_s: float = 10.0) -> Crash:
        """Return once a fault has crashed the broker: which, and at which step.

        If it was armed with restart=True the broker is up again; BarnabasError where it could not be started. Otherwise
        `start` brings it back.
        """
        crash = self._crash(timeout_s)
        if crash is None:
            raise BarnabasError(f"no fault has crashed the broker within {timeout_s:g} s")
        return crash

    @says_where
    def arm(
        self,
        *,
        name: str | None = None,
        times: int | Literal["always"] = 1,
        api: str | None = None,
        version: int | Mapping[str, int] | None = None,
        node: int | None = None,
        listener: str | None = None,
        connection: str | None = None,
        client_id: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        point: str | None = None,
        disk: Literal["append", "sync", "read"] | None = None,
        file: str | None = None,
        nth: int | None = None,
        probability: float | None = None,
        facts: Mapping[str, str | int | bool] | None = None,
        error: str | None = None,
        drop: bool = False,
        lose_answer: bool = False,
        cut: Literal["before", "middle", "after"] | None = None,
        delay: str | Mapping[str, str] | None = None,
        pause: bool = False,
        throttle: int | None = None,
        crash: bool = False,
        restart: bool = False,
    ) -> FaultHandle:
        """Arm one fault: the conditions are from `api` to `facts`, the effects from `error` on.

        arm(api="EndTxn", transactional_id="orders-*", lose_answer=True). facts: further ones of a `point`.
        restart: once it has crashed the broker, start it again, with its data, at its port and without faults.
        """
        own = ("self", "name", "times", "facts", "restart")
        given = {key: value for key, value in locals().items() if key not in (*own, "own")}
        set_ones = {key: value for key, value in given.items() if value is not None and value is not False}
        do = {key: set_ones.pop(key) for key in _DOES if key in set_ones}
        fault = {"match": {**set_ones, **(facts or {})}, "do": do, "times": times}
        (armed,) = self._arm(fault if name is None else {"name": name, **fault}, [fault], restart)
        return armed

    @says_where
    def arm_plan(self, plan: Mapping[str, Any], *, restart: bool = False) -> list[FaultHandle]:
        """Arm all faults of a plan: {"version": 1, "seed": 7, "faults": [...]}. restart: as in `arm`."""
        return self._arm(plan, plan.get("faults", ()), restart)

    def _arm(self, asked: Mapping[str, Any], faults: Iterable[Any], restart: bool) -> list[FaultHandle]:
        """Arm faults as JSON, so that Python values are read like those in a file. Raises TypeError for others."""
        if restart and not any(map(_crashes, faults)):
            raise BarnabasError("restart=True needs a fault that does crash: no other ends the broker")
        names = self._ask("faults_arm", json.dumps(asked))
        self._note_armed(names, restart)
        return [FaultHandle(self._ask, name) for name in names]

    @property
    def armed(self) -> Sequence[Mapping[str, Any]]:
        """All armed faults: name, match, do, times, matched, fired, standing."""
        states: Sequence[Mapping[str, Any]] = self._ask("faults_list")
        return states

    def reset(self) -> None:
        """Disarm all faults."""
        self._ask("faults_reset")

    def assert_all_fired(self) -> None:
        """Raise AssertionError with the names of faults that did not fire as often as planned."""
        unfired = self._ask("faults_unfired")
        if unfired:
            raise AssertionError(f"these faults did not fire as often as planned: {', '.join(unfired)}")


def _crashes(fault: Any) -> bool:
    """Return whether the fault crashes the broker; the broker reports an invalid fault."""
    does = fault.get("do") if isinstance(fault, Mapping) else None
    return isinstance(does, Mapping) and does.get("crash") is True
