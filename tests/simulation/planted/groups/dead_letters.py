"""Bugs of dead-letter queues: which records get a dead letter, and when they are archived."""

from tests.simulation.planted.planting import Bug

_SEEDS = 450  # of which a tenth has a share group, and most of these dead letters


def _bug(name: str, says: str) -> Bug:
    return Bug(name, says, seeds=_SEEDS, needs="sharers")


BUGS = (
    _bug("rejected record without a dead letter", "A rejected record is archived at once.").at(
        "finished_state",
        "DeliveryState.ARCHIVING if settings.dead_letter_topic else DeliveryState.ARCHIVED",
        "DeliveryState.ARCHIVED",
    ),
    _bug(
        "released record without a dead letter",
        "A record that is released at the delivery limit waits forever for its dead letter.",
    ).at(
        "SharePartition.acknowledge",
        "state is archiving",
        "state is archiving and kind is AcknowledgeType.REJECT",
    ),
    Bug(
        "expired lock without a dead letter",
        "A record whose lock expires at the delivery limit waits forever for its dead letter.",
        seeds=_SEEDS,
        needs="sharers",
        is_missed=True,
    ).at("SharePartition.expire", "change.dead_letters = worn_out(late)"),
    _bug("dead letter not retried", "A dead letter is lost if its append fails.").at(
        "DeadLetterQueue._append", "pause_ms is None or not error.code.retriable", "True"
    ),
)
