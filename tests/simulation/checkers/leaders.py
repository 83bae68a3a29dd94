"""The rule about nodes: who does not lead a partition writes nothing to it.

Replicas may be read from whether they lead or not, as in Kafka (KIP-392).
"""

from collections.abc import Iterator

from tests.simulation.history.history import History, Outcome


def old_leaders(history: History) -> Iterator[str]:
    """What is sent and acknowledged while another node leads the partition, from before to after, is refused."""
    for send in history.sends:
        term = history.leaders.term(send.at, send.began_us)
        if term is None or send.outcome is not Outcome.OK or send.ended_us is None or not send.port:
            continue
        if send.ended_us < term.last.began_us and send.port != term.first.port:
            yield f"{send.line()}: by port {send.port}, though {term.first.line()}"
