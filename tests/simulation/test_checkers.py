"""Rules over histories written by hand: for what no bug that somebody might make shows alone."""

from dataclasses import replace

from tests.simulation.checkers.groups import unsettled_groups, useless_standbys
from tests.simulation.checkers.log.cleaning import early_deletions
from tests.simulation.checkers.log.order import polls_go_back, sends_go_back, skipped_polls, unseen
from tests.simulation.checkers.transactions.cycles import circles, circular_reads
from tests.simulation.checkers.transactions.moments import torn_moments
from tests.simulation.history.groups import Owned
from tests.simulation.history.history import History, Incarnation, Outcome, Poll, Send, Transaction
from tests.simulation.history.logs import Promise
from tests.simulation.history.nodes import Leaders, LeaderView
from tests.simulation.history.topics import RecordsDeleted

AT = ("output", 0)
EMPTY = Poll("r0", True, AT, 0, 1, 1, 1, 0, 0, [], log_start_offset=0, last_stable_offset=9, high_watermark=9)


def poll(*offsets: int, begin: int, end: int) -> Poll:
    records = [(offset, f"v{offset}".encode()) for offset in offsets]
    return replace(EMPTY, from_offset=begin, next_offset=end, records=records)


def history(*polls: Poll, final: tuple[int, ...] = ()) -> History:
    found = History()
    found.polls += polls
    found.final.append(poll(*final, begin=0, end=9))
    return found


def test_a_poll_in_the_order_of_the_log_may_go_on_in_the_next() -> None:
    assert not list(polls_go_back(history(poll(0, 2, begin=0, end=3), poll(3, begin=3, end=4))))


def test_a_poll_whose_offsets_fall_goes_back() -> None:
    assert list(polls_go_back(history(poll(2, 1, begin=0, end=3))))


def test_a_poll_that_has_what_is_before_its_position_goes_back() -> None:
    assert list(polls_go_back(history(poll(1, 2, begin=2, end=3))))


def test_a_reader_goes_back_only_where_its_program_says_so() -> None:
    first, again = poll(0, begin=0, end=1), poll(0, begin=0, end=1)
    assert list(polls_go_back(history(first, again)))
    assert not list(polls_go_back(history(first, replace(again, is_moved=True))))


def test_what_is_left_out_in_a_poll_or_between_two_is_skipped() -> None:
    final = (0, 1, 2)
    assert not list(skipped_polls(history(poll(0, 1, begin=0, end=2), final=final)))
    assert list(skipped_polls(history(poll(0, begin=0, end=2), final=final)))
    assert list(skipped_polls(history(poll(0, begin=0, end=1), poll(2, begin=2, end=3), final=final)))


def test_what_was_deleted_is_not_skipped_though_a_death_brings_it_back() -> None:
    after = replace(poll(2, begin=2, end=3), log_start_offset=2, ended_us=9)
    found = history(poll(0, begin=0, end=1), after, final=(0, 1, 2))
    assert list(skipped_polls(found))
    found.deletions.append(RecordsDeleted("a0", AT, began_us=5, ended_us=6, boot=1, offset=2))
    assert not list(skipped_polls(found))
    after.log_start_offset = 1
    assert list(skipped_polls(found))


def test_who_read_to_the_end_has_seen_everything() -> None:
    found = history(poll(0, begin=0, end=1), final=(0, 1))
    assert not list(unseen(found))
    found.caught_up.add("r0")
    assert list(unseen(found)) == ["r0 never sees v1 at 1 of output-0"]


def send(offset: int, *, began_us: int, ended_us: int) -> Send:
    producer = Incarnation("t0", "tx0", 0)
    return Send(producer, None, AT, b"v", 0, began_us, outcome=Outcome.OK, offset=offset, ended_us=ended_us)


def sent(*sends: Send) -> History:
    found = History()
    found.sends += sends
    return found


def test_what_is_sent_later_stands_behind() -> None:
    assert list(sends_go_back(sent(send(5, began_us=0, ended_us=10), send(4, began_us=11, ended_us=20))))


def test_sends_that_are_under_way_together_stand_in_any_order() -> None:
    assert not list(sends_go_back(sent(send(5, began_us=0, ended_us=10), send(4, began_us=9, ended_us=20))))


def transactions(*reads: tuple[int, ...]) -> History:
    """One for each, which writes v followed by its number and reads what these numbers wrote."""
    found = History()
    for number, numbers in enumerate(reads):
        each = Transaction(Incarnation("t0", "tx0", 0), number, 0)
        each.sends.append(replace(send(number, began_us=0, ended_us=1), value=f"v{number}".encode()))
        each.reads.append(poll(*numbers, begin=0, end=9))
        found.transactions.append(each)
    return found


def test_transactions_that_read_from_each_other_go_round_in_a_circle() -> None:
    assert not list(circular_reads(transactions((), (0,), (0, 1))))
    assert len(list(circular_reads(transactions((2,), (0,), (1,))))) == 1


def test_a_transaction_that_reads_what_it_wrote_is_a_circle() -> None:
    assert list(circular_reads(transactions((0,))))


def test_circles_are_found_apart_from_what_leads_to_them_and_away_from_them() -> None:
    edges = {1: [2], 2: [3], 3: [2, 4], 4: [5, 6], 5: [4], 6: [], 7: [7]}
    assert sorted(sorted(each) for each in circles(edges)) == [[2, 3], [4, 5], [7]]


def test_a_compacted_log_may_begin_behind_a_young_record_only_where_another_replaced_it() -> None:
    found = history(replace(EMPTY, log_start_offset=1, ended_us=2_000))
    found.promises[AT[0]] = Promise(is_compacted=True, delete_retention_ms=0, retention_ms=60_000)
    found.sends.append(send(0, began_us=1, ended_us=2))
    assert list(early_deletions(found))
    found.sends.append(send(3, began_us=3, ended_us=4))
    assert not list(early_deletions(found))


def test_only_a_partition_that_lacks_replicas_may_show_a_transaction_later() -> None:
    other = ("output", 1)
    producer = Incarnation("t0", "tx0", 0)
    transaction = Transaction(producer, 1, 0)
    for at in (AT, other):
        transaction.sends.append(Send(producer, transaction, at, b"v", 0, 0, outcome=Outcome.OK, offset=3))
    found = History()
    found.transactions.append(transaction)
    marked = replace(EMPTY, last_stable_offset=5, high_watermark=5)
    late = replace(marked, at=other, last_stable_offset=3)
    found.polls += [marked, late]
    assert list(torn_moments(found))
    late.high_watermark = 4
    assert list(torn_moments(found))
    found.lacks_replicas = True
    assert not list(torn_moments(found))
    late.high_watermark = 5
    assert list(torn_moments(found))
    found.sends.append(Send(producer, None, other, b"w", 0, 0, outcome=Outcome.OK, offset=4))
    assert not list(torn_moments(found)), "a record is there, where the marker might be"


def test_each_task_has_the_standby_tasks_that_there_are_members_for_and_none_beside_the_active_one() -> None:
    one, other = (Owned(name, "plain", name, 5, (number,), 0, 1) for number, name in enumerate(["m0", "m1"]))
    found = History()
    found.inputs, found.standbys = 2, 2
    found.settled += [one, other]
    one.standbys, other.standbys = (1,), (0,)
    assert not [*unsettled_groups(found), *useless_standbys(found)]
    other.standbys = ()
    assert list(unsettled_groups(found)) == [
        "not each partition has its standby tasks: m0 is m0 of plain in 5 with [0], standbys [1];"
        " m1 is m1 of plain in 5 with [1]"
    ]
    other.standbys = (0, 1)
    assert list(useless_standbys(found)) == ["m1 is m1 of plain in 5 with [1], standbys [0, 1]"]


def test_a_leader_has_led_for_certain_from_the_first_view_of_its_epoch_to_the_last() -> None:
    leaders = Leaders()
    for epoch, began_us in ((0, 10), (0, 30), (1, 50), (2, 70), (2, 90)):
        leaders.seen(LeaderView(AT, 9092, epoch, began_us, began_us + 5))
    assert [leaders.led_until_us(AT, from_us) for from_us in (0, 15, 32, 60, 80)] == [0, 30, 32, 60, 90]
