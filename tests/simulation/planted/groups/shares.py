"""Bugs of share groups: acquisition, delivery counts, locks, and the stored delivery states."""

from tests.simulation.planted.planting import Bug

_SEEDS = 450  # of which a tenth has a share group


def _bug(name: str, says: str, seeds: int = _SEEDS) -> Bug:
    return Bug(name, says, seeds=seeds, needs="sharers")


BUGS = (
    _bug("accepted record delivered again", "ACCEPT has the effect of RELEASE.").at(
        "_states_after", "DeliveryState.ACKNOWLEDGED", "None"
    ),
    _bug("delivery limit exceeded by one", "A record is archived one delivery too late.").at(
        "released_state", "cell.count >= settings.delivery_count_limit", "cell.count > settings.delivery_count_limit"
    ),
    _bug("deliveries not counted", "The delivery count stays at 1.").at("Acquisition._acquire", "cell.count += 1"),
    _bug(
        "acquisition lock without a timeout", "A record stays acquired until its member acknowledges it or leaves."
    ).at("LedSharePartition.acquire", "self._watch_lock(now + settings.record_lock_duration_ms / 1000)"),
    _bug("acquisition lock not renewed", "RENEW succeeds, but the acquisition lock ends as before.").at(
        "SharePartition.acknowledge", "cell.deadline = deadline"
    ),
    _bug(
        "acknowledgement by another member accepted",
        "A member can acknowledge a record that another member has acquired.",
    ).at("acknowledgements:_check_cell", "cell.member != member", "False"),
    _bug("acquired record acquired again", "ShareFetch acquires a record that another member has acquired.").at(
        "Acquisition._take",
        "cell.is_available and cell.last >= first and cell.first <= last",
        "not cell.is_finished and cell.last >= first and cell.first <= last",
    ),
    _bug("delivery states not loaded", "After a restart, a share partition has only its start offset.").at(
        "LedSharePartition._begin",
        "SharePartition(stored, self.leader_epoch)",
        "SharePartition(stored._replace(batches=()), self.leader_epoch)",
    ),
    _bug("share snapshot without earlier updates", "A snapshot of a share partition contains only the last update.").at(
        "deciding:_changed",
        "merged(state.batches, update.batches, start_offset)",
        "merged((), update.batches, start_offset)",
    ),
    _bug("delivery counts not stored", "After a restart, each record has a delivery count of 1.").at(
        "state_batches", "(first, last, int(state), count)", "(first, last, int(state), 1)"
    ),
    _bug(
        "aborted records delivered to a share group",
        "A share group with `read_committed` gets records of aborted transactions.",
    ).at("DelayedShareFetch._batches", "is_aborted and is_data", "False"),
    _bug(
        "uncommitted records delivered to a share group",
        "A share group with `read_committed` gets records of open transactions.",
    ).at("DelayedShareFetch._fetch", "self._settings.is_read_committed", "False"),
    _bug("ShareFetch without its last batch", "The answer has fewer records than were acquired.").at(
        "delayed_share_fetch:_bounds", "if each.first <= last: ...", "if each.first < last: ..."
    ),
    _bug("record acquired during its release", "A record can be acquired while its release is still being stored.").at(
        "DeliveryCell.is_available",
        "self.state is DeliveryState.AVAILABLE and self.change is None",
        "self.state is DeliveryState.AVAILABLE",
    ),
    _bug(
        "share partition not assigned",
        "No new target assignment is computed after the state of a share partition was initialized.",
    ).at("share.heartbeat:_epoch", "is_bumped or _waits_for_assignment(group, topics)", "is_bumped"),
    _bug(
        "old delivery states used by a new leader",
        "A node that becomes leader again does not read the delivery states again.",
    ).at("SharePartitionManager._current", "led is not None and led.leader_epoch != leader_epoch", "False"),
    _bug("offsets reset while members exist", "The offsets of a share group can be reset while it has members.")
    .at("ShareGroups._altering", "known.members", "False")
    .at("ShareGroups._deleting", "known.members", "False"),
    _bug(
        "delivery states not removed by a reset", "A reset of a share group's offsets changes only the start offset."
    ).at("deciding:initialize", "()", "() if tracked is None else tracked.state.batches"),
    _bug(
        "state epoch not checked after a reset",
        "A leader that does not know of a reset can still write delivery states.",
        seeds=900,
    ).at("deciding:_check_state_epoch", "tracked is not None and state_epoch < tracked.max_state_epoch", "False"),
)
