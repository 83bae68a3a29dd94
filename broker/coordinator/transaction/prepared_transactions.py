"""Prepared transactions are seen through: before anybody is let in after a kill, and before the broker stops.

The coordinator finishes on its own what it finds prepared (transactions.py); this waits for it. A module of its own as
that one is compiled, and has no coroutines: docs/compiled.md.
"""

from __future__ import annotations

from asyncio import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.coordinator.transaction.transactions import TransactionCoordinator


async def recover_transactions(coordinator: TransactionCoordinator) -> None:
    """After an unclean stop: load everything and finish what was prepared, before anybody is let in.

    What cannot be loaded or finished because a disk fails is logged, and tried again as long as it takes.
    """
    coordinator.load_all()
    await _settle(coordinator)


async def finish_transactions(coordinator: TransactionCoordinator) -> bool:
    """Before a clean stop: see what is prepared through, as far as the disk lets us; nothing more is decided.

    Returns whether the next run may take for granted that nothing is prepared.
    """
    coordinator.stop_deciding()
    await _settle(coordinator)
    return coordinator.has_finished_all


async def _settle(coordinator: TransactionCoordinator) -> None:
    while deciding := coordinator.deciding():
        await wait(deciding, return_when=FIRST_COMPLETED)
    while not coordinator.markers.is_settled:
        await coordinator.markers.next_change()
