"""The faults of an embedded broker, for its owner: armed, waited for, released, disarmed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Unpack

from barnabas.embedded.crashes import Crash
from barnabas.embedded.errors import BarnabasError
from barnabas.embedded.handles.fault_values import (
    CONDITIONS,
    EFFECTS,
    FaultEffect,
    FaultKeywords,
    FaultMatch,
    effect_json,
    json_of,
    match_json,
    split,
    united,
)
from barnabas.embedded.handles.misplaced import says_where

_WAIT_S = 0.2
"""The time that one call may wait in the broker: meanwhile other threads cannot call it."""


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

    @says_where(*CONDITIONS, *EFFECTS)
    def arm(
        self,
        *,
        match: FaultMatch | Mapping[str, Any] | None = None,
        do: FaultEffect | Mapping[str, Any] | None = None,
        times: int | Literal["always"] = 1,
        name: str | None = None,
        restart: bool = False,
        **keywords: Unpack[FaultKeywords],
    ) -> FaultHandle:
        """Arm one fault: arm(match=FaultMatch(api="EndTxn"), do=FaultEffect(lose_answer=True)).

        match and do are also mappings in the form of a plan's JSON. Their fields are keywords, too:
        arm(api="EndTxn", lose_answer=True). A key in both forms raises TypeError.
        restart: once it has crashed the broker, start it again, with its data, at its port and without faults.
        """
        conditions, effects = split(keywords)
        fault = {
            "match": united(conditions.as_json(), match_json(match), "a keyword and in match"),
            "do": united(effects.as_json(), effect_json(do), "a keyword and in do"),
            "times": times,
        }
        (armed,) = self._arm(fault if name is None else {"name": name, **fault}, restart)
        return armed

    @says_where()
    def arm_plan(self, plan: Mapping[str, Any], *, restart: bool = False) -> list[FaultHandle]:
        """Arm all faults of a plan: {"version": 1, "seed": 7, "faults": [{"match": …, "do": …}]}.

        `match` and `do` of a fault are mappings, or FaultMatch and FaultEffect. restart: as in `arm`.
        """
        return self._arm(plan, restart)

    def _arm(self, requested: Mapping[str, Any], restart: bool) -> list[FaultHandle]:
        """Arm faults as JSON, so that Python values are read like those in a file. Raises TypeError for others."""
        plan = json.dumps(requested, default=json_of)
        if restart and not _crashes(json.loads(plan)):
            raise BarnabasError("restart=True needs a fault that does crash: no other ends the broker")
        names = self._ask("faults_arm", plan)
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


def _crashes(plan: Any) -> bool:
    """Return whether a fault of the plan, or the one fault, crashes the broker, which reports an invalid one."""
    faults = plan.get("faults", [plan]) if isinstance(plan, dict) else plan
    effects = [each.get("do") for each in faults if isinstance(each, dict)] if isinstance(faults, list) else []
    return any(isinstance(do, dict) and do.get("crash") is True for do in effects)
