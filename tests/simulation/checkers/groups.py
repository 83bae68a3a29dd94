"""Rules about groups: one owner for each partition, shares that come to rest, offsets that stay, exactly once."""

from collections import Counter
from collections.abc import Iterator

from tests.simulation.checkers.log.records import seen
from tests.simulation.history.groups import Commit, Owned
from tests.simulation.history.history import History, OffsetRead, Outcome


def two_owners(history: History) -> Iterator[str]:
    """In one generation, and at one member epoch, no partition is assigned to two members; nor is it assigned to
    one while another has it, who gives it up later and in order.
    """
    owners: dict[tuple[str, int, int], Owned] = {}
    for owned in history.owned:
        for partition in owned.partitions:
            first = owners.setdefault((owned.group, owned.epoch, partition), owned)
            if first.who != owned.who:
                yield f"{owned.line()}, and {first.line()}"
        for other in history.owned:
            if _has_still(other, owned) and not set(owned.partitions).isdisjoint(other.partitions):
                yield f"{owned.line()}, while {other.line()}"


def _has_still(other: Owned, owned: Owned) -> bool:
    return (
        other.group == owned.group
        and other.who != owned.who
        and other.ended_us is not None
        and not other.is_lost
        and other.at_us < owned.asked_us
        and owned.at_us < other.ended_us
    )


def zombie_commits(history: History) -> Iterator[str]:
    """Once a member has got a partition in a newer generation, nobody commits offsets of it in an older."""
    for commit in history.commits:
        for owned in history.owned if commit.outcome is Outcome.OK else ():
            is_newer = owned.group == commit.group and owned.epoch > commit.epoch and owned.client != commit.client
            if is_newer and owned.at_us < commit.began_us and commit.at[1] in owned.partitions:
                yield f"{commit.line()}, though {owned.line()}"
                break


def unsettled_groups(history: History) -> Iterator[str]:
    """When all timeouts are over after the last misfortune, all members are of one generation or epoch, and each has
    its share of the partitions: the numbers differ by one at most, and none is left over.
    """
    groups: dict[str, list[Owned]] = {}
    for owned in history.settled:
        groups.setdefault(owned.group, []).append(owned)
    for members in groups.values():
        members_text = "; ".join(member.line() for member in members)
        sizes = [len(member.partitions) for member in members]
        every = sorted(partition for member in members for partition in member.partitions)
        if len({member.epoch for member in members}) > 1:
            yield f"not all members have the same generation or epoch: {members_text}"
        elif every != list(range(history.inputs)):
            yield f"not each of {history.inputs} partitions is assigned once: {members_text}"
        elif max(sizes) - min(sizes) > 1:
            yield f"the shares are not even: {members_text}"
        elif any(count != min(history.standbys, len(members) - 1) for count in _standbys_counts(history, members)):
            yield f"not each partition has its standby tasks: {members_text}"


def _standbys_counts(history: History, members: list[Owned]) -> list[int]:
    """How many standby tasks each partition has."""
    counts = Counter(partition for member in members for partition in member.standbys)
    return [counts[partition] for partition in range(history.inputs)]


def useless_standbys(history: History) -> Iterator[str]:
    """No member has a standby task beside the active one: both would be lost with it."""
    for owned in [*history.owned, *history.settled]:
        if not set(owned.partitions).isdisjoint(owned.standbys):
            yield owned.line()


def offsets_go_back(history: History) -> Iterator[str]:
    """A group's offset is what was committed last; a commit that was not answered may be it."""
    for read in history.group_reads:
        before = [each for each in history.commits if each.group == read.group and each.at == read.at]
        answered = [each for each in before if each.outcome is Outcome.OK and (each.ended_us or 0) < read.began_us]
        found = [each for each in before if _may_be(each, read)]
        if read.offset < 0 and answered:
            yield f"{read.line()}: there is none, after {answered[-1].line()}"
        elif read.offset >= 0 and not found:
            yield f"{read.line()}: nobody committed it"
        elif read.offset >= 0 and all(_is_over(each, answered) for each in found):
            yield f"{read.line()}: it is older than {answered[-1].line()}"


def _may_be(commit: Commit, read: OffsetRead) -> bool:
    return commit.offset == read.offset and commit.outcome is not Outcome.FAILED and commit.began_us < read.ended_us


def _is_over(commit: Commit, answered: list[Commit]) -> bool:
    """Whether another one came behind it for certain."""
    return commit.outcome is Outcome.OK and any((commit.ended_us or 0) < later.began_us for later in answered)


def exactly_once(history: History) -> Iterator[str]:
    """Consume, process, produce: each record below the group's offset was processed once, and no other was."""
    sources = {send.value: send.source for send in history.sends if send.source}
    if not history.loop_offsets:
        return
    out: Counter[str] = Counter()
    for records in seen(history.final, is_committed=True).values():
        out.update(sources[value] for _, value in records if value in sources)
    inputs = seen(history.final, is_committed=True)
    for at, offset in history.loop_offsets.items():
        for each, value in inputs.get(at, []):
            count, wanted = out.pop(f"{at[1]}:{each}", 0), int(each < offset)
            if count != wanted:
                record = f"{value.decode()} at {each} of {at[0]}-{at[1]}"
                yield f"{record} was processed {count} times, and the group's offset is {offset}"
    for source in out:
        yield f"the record {source} was processed, and is not in the input"
