"""Bugs of share groups: what is delivered to whom, how often, for how long, and what of it survives the broker."""

from tests.simulation.planted.planting import Bug

_SEEDS = 450  # of which a tenth has a share group


def _bug(name: str, says: str) -> Bug:
    return Bug(name, says, seeds=_SEEDS, needs="sharers")


BUGS = (
    _bug("an accepted record that comes again", "An acceptance counts as a release.").at(
        "share_partition:_state_after", "DeliveryState.ACKNOWLEDGED", "released_state(cell, settings)"
    ),
    _bug("a delivery more than the limit", "A record is archived one delivery too late.").at(
        "released_state", "cell.count >= settings.delivery_count_limit", "cell.count > settings.delivery_count_limit"
    ),
    _bug("deliveries that are not counted", "The delivery count stays at one.").at(
        "Acquisition._acquire", "cell.count += 1"
    ),
    _bug("locks without a timer", "Records are held until their member acknowledges them or goes.").at(
        "LedSharePartition.acquire", "self._watch_locks()"
    ),
    _bug("a renewal that renews nothing", "A renewal is answered, and the lock ends as before.").at(
        "SharePartition.acknowledge", "cell.deadline = now + settings.record_lock_duration_ms / 1000"
    ),
    _bug("acknowledgements of another holder", "A member may acknowledge what another one holds.").at(
        "acknowledgements:_check_cell", "cell.member != member", "False"
    ),
    _bug("held records acquired again", "A fetch takes what another member holds.").at(
        "Acquisition._take",
        "cell.is_available and cell.last >= first and cell.first <= last",
        "not cell.is_finished and cell.last >= first and cell.first <= last",
    ),
    _bug("states that are not loaded", "After a start only the start offset is known.").at(
        "LedSharePartition._begin",
        "SharePartition(stored, self.leader_epoch)",
        "SharePartition(stored._replace(batches=()), self.leader_epoch)",
    ),
    _bug("a snapshot of the last change only", "A snapshot has not what the updates before it say.").at(
        "deciding:_changed",
        "merged(state.batches, update.batches, start_offset)",
        "merged((), update.batches, start_offset)",
    ),
    _bug("delivery counts that are not stored", "After a start each record was delivered once.").at(
        "state_batches", "int(cell.state), cell.count", "int(cell.state), 1"
    ),
    _bug("aborted records delivered", "A share group that reads committed records gets aborted ones, too.").at(
        "DelayedShareFetch._batches", "is_aborted and is_data", "False"
    ),
    _bug("open transactions delivered", "A share group that reads committed records does not wait for the end.").at(
        "DelayedShareFetch._fetch", "self._settings.is_read_committed", "False"
    ),
    _bug("a delivery without its last batch", "The answer has fewer records than were acquired.").at(
        "delayed_share_fetch:_bounds", "if each.first <= last: ...", "if each.first < last: ..."
    ),
    _bug("a record in two states", "What is being stored as released can be acquired already.").at(
        "DeliveryCell.is_available",
        "self.state is DeliveryState.AVAILABLE and self.change is None",
        "self.state is DeliveryState.AVAILABLE",
    ),
    _bug("partitions that are not assigned", "Once the state of a partition is there, no new target is computed.").at(
        "share.heartbeat:_epoch", "is_bumped or _waits_for_assignment(group, topics)", "is_bumped"
    ),
    _bug("an old leader's deliveries", "A node that leads again goes on where it was when it led before.").at(
        "SharePartitionManager._current", "led is not None and led.leader_epoch != leader_epoch", "False"
    ),
    _bug("offsets that are reset under members", "A share group with members can be reset.")
    .at("ShareGroups._altering", "known.members", "False")
    .at("ShareGroups._deleting", "known.members", "False"),
    _bug("a reset that keeps what was accepted", "Only the start offset is set anew.").at(
        "deciding:initialize", "()", "() if tracked is None else tracked.state.batches"
    ),
    _bug("states of before a reset", "A leader that has not heard of a reset goes on storing.").at(
        "deciding:_check_state_epoch", "tracked is not None and state_epoch < tracked.max_state_epoch", "False"
    ),
)
