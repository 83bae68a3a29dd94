"""The rules that every history has to keep, each a function from the history to what breaks it."""

from tests.simulation.checkers import schemas, shares, sink
from tests.simulation.checkers.broker.answers import hanging_requests
from tests.simulation.checkers.broker.files import open_files, unsound_files
from tests.simulation.checkers.broker.rebuilt import other_records, wrong_checkpoints, wrong_snapshots
from tests.simulation.checkers.groups import (
    exactly_once,
    offsets_go_back,
    two_owners,
    unsettled_groups,
    useless_standbys,
    zombie_commits,
)
from tests.simulation.checkers.leaders import old_leaders
from tests.simulation.checkers.log.cleaning import early_deletions, lost_values, moved_records
from tests.simulation.checkers.log.order import polls_go_back, sends_go_back, skipped_polls, unseen
from tests.simulation.checkers.log.records import duplicates, inconsistent_offsets, lost_writes, reordered_sends
from tests.simulation.checkers.topics import deleted_records, lost_configs, lost_topics, old_records, revived_topics
from tests.simulation.checkers.transactions.cycles import circular_reads
from tests.simulation.checkers.transactions.moments import held_back, torn_moments, watermarks_go_back
from tests.simulation.checkers.transactions.outcomes import aborted_reads, early_reads, lost_commits, torn_transactions
from tests.simulation.checkers.transactions.producers import accepted_gaps, wrong_offsets, zombies
from tests.simulation.checkers.transactions.times import open_too_long, overlong_transactions, slow_ends
from tests.simulation.history.history import Finding, History
from tests.simulation.secured.rules import RULES as SECURITY_RULES
from tests.simulation.world.disk import Disk

CHECKERS = (
    *(lost_writes, duplicates, inconsistent_offsets, reordered_sends, sends_go_back, polls_go_back, skipped_polls),
    *(unseen, aborted_reads, early_reads, lost_commits, torn_transactions, circular_reads, torn_moments),
    *(watermarks_go_back, held_back, zombies, wrong_offsets, overlong_transactions, open_too_long, slow_ends),
    *(accepted_gaps, lost_topics, revived_topics, old_records, deleted_records, lost_configs, two_owners),
    *(unsettled_groups, offsets_go_back, zombie_commits, exactly_once, hanging_requests, old_leaders, lost_values),
    *(moved_records, early_deletions, useless_standbys),
    *shares.RULES,
    *sink.RULES,
    *SECURITY_RULES,
    *schemas.RULES,
)


def check(history: History) -> list[Finding]:
    """Everything that any rule finds."""
    return [Finding(checker.__name__, text) for checker in CHECKERS for text in checker(history)]


def check_files(disk: Disk, history: History) -> list[Finding]:
    """What the broker left behind when it had stopped."""
    found = [Finding(checker.__name__, text) for checker in (unsound_files, open_files) for text in checker(disk)]
    if found:
        return found
    rebuilt = (wrong_snapshots, wrong_checkpoints, other_records)
    return [Finding(checker.__name__, text) for checker in rebuilt for text in checker(disk, history)]
