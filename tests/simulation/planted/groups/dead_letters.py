"""Bugs of dead-letter queues: which records get a dead letter, of what, and when they are archived."""

from tests.simulation.planted.planting import Bug

_SEEDS = 450  # of which a tenth has a share group, and most of these dead letters


def _bug(name: str, says: str) -> Bug:
    return Bug(name, says, seeds=_SEEDS, needs="sharers")


BUGS = (
    _bug("rejected records without dead letters", "What a member rejects is archived at once.").at(
        "finished_state",
        "DeliveryState.ARCHIVING if settings.dead_letter_topic else DeliveryState.ARCHIVED",
        "DeliveryState.ARCHIVED",
    ),
    _bug("released records without dead letters", "What is released at the limit waits for a letter for ever.").at(
        "SharePartition.acknowledge",
        "cell.state is DeliveryState.ARCHIVING",
        "cell.state is DeliveryState.ARCHIVING and kind is AcknowledgeType.REJECT",
    ),
    _bug("ended locks without dead letters", "What is not acknowledged at the limit waits for a letter for ever.").at(
        "SharePartition.expire", "change.dead_letters = worn_out(late)"
    ),
    _bug("dead letters tried once", "An append that fails loses its letters.").at(
        "DeadLetterQueue._append", "pause_ms is None or not error.code.retriable", "True"
    ),
)
