"""The armed disk faults: which call they affect, and the replacement of the files while there are such faults.

Knows the data directories' disks, not the clients that arm faults. The effect of a failing disk on a broker is up to
the broker: it sees the same failing calls as from a real disk, and reacts as it does then. A data directory that is
offline after a failed sync stays offline.

Theory of operation: while nothing is armed the disks use their own files, and no call costs more. The first fault puts
`FaultyFiles` in their place and closes every open file, so that each is opened again through them; disarming the last
fault reverts this. Meanwhile files are synced one by one, never by one call for all.

Invariants: counters change under a lock, because files are synced in threads; a disarmed fault ends the delay of a
sync in progress; in the event loop no sync is delayed, because that would block everything.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.control.faults.faulty_files import FaultyFiles
from barnabas.broker.control.faults.matching import DiskPlace, matches_disk
from barnabas.broker.control.faults.model import DiskAction, DiskError, DiskMatch, DiskOperation

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from barnabas.broker.control.faults.armed import Armed
    from barnabas.broker.control.faults.registry import FaultRegistry
    from barnabas.storage.disk.disk import Disk
    from barnabas.storage.disk.files import CommonSync, Files


class DiskFaults:
    """The disk faults of one broker. Created on its event loop."""

    def __init__(self, registry: FaultRegistry, disks: Sequence[Disk], loop: AbstractEventLoop) -> None:
        """Follow the registry. disks: of all data directories."""
        self._registry = registry
        self._disks = disks
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._changed = threading.Condition()
        self._live: list[tuple[DiskMatch, DiskAction, Armed]] = []
        self._own: list[tuple[Disk, Files, CommonSync | None]] = []
        registry.listen(self._follow)

    def _follow(self) -> None:
        """Take over the live faults of the registry after a change."""
        live = []
        for each in self._registry.live:
            match, action = each.fault.match, each.fault.action
            if isinstance(match, DiskMatch) and isinstance(action, DiskAction):
                live.append((match, action, each))
        with self._changed:
            self._live = live
            self._changed.notify_all()
        if live and not self._own:
            self._take_over()
        elif not live and self._own:
            self._give_back()

    def _take_over(self) -> None:
        for disk in self._disks:
            self._own.append((disk, disk.files, disk.common_sync))
            disk.files, disk.common_sync = FaultyFiles(disk.files, self), None
            disk.descriptors.evict_all()

    def _give_back(self) -> None:
        for disk, files, common_sync in self._own:
            disk.files, disk.common_sync = files, common_sync
            disk.descriptors.evict_all()
        self._own = []

    # --- called by the files, in any thread ---

    def strike(self, operation: DiskOperation, place: DiskPlace) -> DiskError | None:
        """Return the error of the disk if a fault fires, else None. A delayed sync has waited before the return."""
        is_on_loop = threading.get_ident() == self._loop_thread
        with self._changed:
            struck = self._struck(operation, place, is_on_loop)
            if struck is None:
                return None
            action, armed = struck
            does = "delay" if action.error is None else action.error.value
            facts: dict[str, str | int | None] = {"disk": operation.value, "file": place.file.value}
            if place.topic:
                facts |= {"topic": place.topic, "partition": place.partition}
            self._loop.call_soon_threadsafe(self._registry.fired, armed, does, facts)
            if action.delay is not None:
                self._changed.wait_for(lambda: not armed.is_armed, armed.chances.delay_ms(action.delay) / 1000)
        return action.error

    def _struck(self, operation: DiskOperation, place: DiskPlace, is_on_loop: bool) -> tuple[DiskAction, Armed] | None:
        for match, action, armed in self._live:
            if action.delay is not None and is_on_loop:
                continue
            if armed.is_live and matches_disk(match, operation, place) and armed.chances.fires():
                return action, armed
        return None

    def is_full(self) -> bool:
        """Return whether an append failed for lack of space, and the next would fail too."""
        with self._changed:
            return any(
                action.error is DiskError.ENOSPC and armed.chances.fired > 0 and armed.is_live
                for _, action, armed in self._live
            )
