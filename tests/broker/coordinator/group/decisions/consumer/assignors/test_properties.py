"""Whatever a group is and was: what comes of an assignment is an assignment, and as even as its assignor promises."""

from collections import Counter
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.decisions.consumer.assignors.by_name import ASSIGNORS
from barnabas.storage.steps import finish
from tests.support.worlds.assigned_group import AssignedGroup
from tests.support.worlds.group_lives import life

_SEEDS = st.integers(0, 2**32 - 1)


@given(_SEEDS)
def test_every_partition_has_one_owner_who_subscribes_to_it(seed: int) -> None:
    for group, _ in _rounds(seed):
        names = {topic.topic_id: name for name, topic in group.topics.items()}
        subscribed = {name for member in group.members.values() for name in member.names}
        expected = Counter(
            (name, partition)
            for name in subscribed & group.topics.keys()
            for partition in range(group.topics[name].partitions)
        )
        owned = Counter[tuple[str, int]]()
        for member_id, target in group.targets.items():
            for topic_id, partitions in target:
                assert names[topic_id] in group.members[member_id].names
                owned.update((names[topic_id], partition) for partition in partitions)
        assert owned == expected


@given(_SEEDS)
def test_uniform_shares_equally_where_all_subscribe_to_the_same(seed: int) -> None:
    for group, assignor in _rounds(seed, same_topics=True):
        sizes = [sum(len(partitions) for _, partitions in target) for target in group.targets.values()]
        if assignor == "uniform":
            assert max(sizes, default=0) - min(sizes, default=0) <= 1


@given(_SEEDS)
def test_uniform_moves_nothing_when_nothing_has_changed_and_all_subscribe_to_the_same(seed: int) -> None:
    for group, assignor in _rounds(seed, same_topics=True):
        if assignor == "uniform":
            assert group.assign("uniform") == []


@given(_SEEDS)
def test_range_gives_consecutive_partitions(seed: int) -> None:
    for group, assignor in _rounds(seed):
        if assignor == "range":
            for target in group.targets.values():
                assert all(
                    list(partitions) == list(range(partitions[0], partitions[-1] + 1)) for _, partitions in target
                )


@given(_SEEDS)
def test_an_assignment_leaves_what_it_was_given_alone(seed: int) -> None:
    for group, assignor in _rounds(seed):
        spec = group.spec()
        before = repr(spec)
        finish(ASSIGNORS[assignor](spec))
        assert repr(spec) == before


def _rounds(seed: int, *, same_topics: bool = False) -> Iterator[tuple[AssignedGroup, str]]:
    """The group after each assignment of a random life, and whose it was."""
    for group, assignor in life(seed, same_topics=same_topics, members_max=20, topics_max=8, partitions_max=20):
        group.take(group.assign(assignor))
        yield group, assignor
