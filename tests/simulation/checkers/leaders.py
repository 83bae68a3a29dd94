"""The rule about nodes: who does not lead a partition writes nothing to it.

Replicas may be read from whether they lead or not, as in Kafka (KIP-392).
"""

from bisect import bisect_right
from collections.abc import Iterator

from tests.simulation.history.history import History, Outcome, TopicPartition
from tests.simulation.history.nodes import LeaderView


def old_leaders(history: History) -> Iterator[str]:
    """What is sent and acknowledged while another node leads the partition, from before to after, is refused."""
    terms = _terms(history)
    for send in history.sends:
        of_partition = terms.get(send.at, [])
        index = bisect_right(of_partition, send.began_us, key=_first_seen_us) - 1
        if send.outcome is Outcome.OK and send.ended_us is not None and send.port and index >= 0:
            first, last = of_partition[index]
            if send.ended_us < last.began_us and send.port != first.port:
                yield f"{send.line()}: by port {send.port}, though {first.line()}"


def _first_seen_us(term: tuple[LeaderView, LeaderView]) -> int:
    return term[0].ended_us


def _terms(history: History) -> dict[TopicPartition, list[tuple[LeaderView, LeaderView]]]:
    """By partition, the first and the last view of each epoch: in between nobody else led."""
    found: dict[TopicPartition, list[tuple[LeaderView, LeaderView]]] = {}
    for view in history.leader_views:
        of_partition = found.setdefault(view.at, [])
        if of_partition and of_partition[-1][0].epoch == view.epoch:
            of_partition[-1] = of_partition[-1][0], view
        else:
            of_partition.append((view, view))
    return found
