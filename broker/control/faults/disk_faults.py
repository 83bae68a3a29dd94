"""The disk faults that are armed: which call they strike, and whose files those are meanwhile.

Knows the data directories' disks, not who arms what. What a failing disk does to a broker is the broker's: it is told
by the same calls as of a real one, and answers as it does then. What is offline after a failed sync stays so.

Theory of operation: while nothing is armed the disks have their own files, and no call costs more. The first fault puts
`FaultyFiles` in their place and closes every open file, so that each is opened again through them; the last that is
taken back undoes it. Meanwhile files are synced one by one, never by one call for all.

Invariants: counters change under a lock, for files are synced in threads; a fault that is taken back lets a sync go on
that it made slow; in the event loop no sync is slow, for that would hold up everything.
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
    """Those of one broker. Made on its event loop."""

    def __init__(self, registry: FaultRegistry, disks: Sequence[Disk], loop: AbstractEventLoop) -> None:
        """disks: of all data directories."""
        self._registry = registry
        self._disks = disks
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._changed = threading.Condition()
        self._live: list[tuple[DiskMatch, DiskAction, Armed]] = []
        self._own: list[tuple[Disk, Files, CommonSync | None]] = []
        registry.listen(self._follow)

    def _follow(self) -> None:
        """There are other faults."""
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

    # --- asked by the files, in any thread ---

    def strike(self, operation: DiskOperation, place: DiskPlace) -> DiskError | None:
        """What the disk says instead of doing this. A sync that is to be slow has waited on return."""
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
        """Whether an append found no room, and the next would find none either."""
        with self._changed:
            return any(
                action.error is DiskError.ENOSPC and armed.chances.fired > 0 and armed.is_live
                for _, action, armed in self._live
            )
