"""Finishing prepared transactions: before clients are admitted after a kill, and before the broker stops.

The coordinator itself finishes the prepared transactions that it finds (transaction_coordinator.py); this module waits
for it. It is a separate module because that one is compiled, and has no coroutines: docs/compiled.md.
"""

from __future__ import annotations

from asyncio import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator


async def recover_transactions(coordinator: TransactionCoordinator) -> None:
    """Load everything and finish prepared transactions after an unclean stop, before clients are admitted.

    Whatever cannot be loaded or finished because a disk fails is logged, and retried without a limit.
    """
    coordinator.load_all()
    await _settle(coordinator)


async def finish_transactions(coordinator: TransactionCoordinator) -> bool:
    """Finish prepared transactions before a clean stop, as far as the disk permits; nothing more is decided.

    Return whether the next run may assume that nothing is prepared.
    """
    coordinator.stop_deciding()
    await _settle(coordinator)
    return coordinator.has_finished_all


async def _settle(coordinator: TransactionCoordinator) -> None:
    while deciding := coordinator.deciding():
        await wait(deciding, return_when=FIRST_COMPLETED)
    while not coordinator.markers.is_settled:
        await coordinator.markers.next_change()
