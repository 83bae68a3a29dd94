"""Kafka Streams with exactly_once_v2 while leaders and coordinators move and nodes stop: every count is exact."""

from pathlib import Path

import pytest

from tests.compat.nodes.conftest import Nodes
from tests.compat.tools import Tools
from tests.support.clients.word_count import ENDED_BY_SIGTERM, WordCount
from tests.support.waiting import PATIENCE_S, until

STEPS = 6
LONG_STEPS = 60
WORDS_BETWEEN = 60  # that are counted between two steps


@pytest.mark.parametrize("steps", [STEPS, pytest.param(LONG_STEPS, marks=pytest.mark.long)])
def test_counts_are_exact_while_leaders_and_coordinators_move(
    nodes: Nodes, tools: Tools, tmp_path: Path, steps: int
) -> None:
    name = f"exact-{steps}"
    count = WordCount(nodes.server, tools, name, "exactly_once_v2")
    moves = nodes.moves(*(f"{name}-{each}" for each in ("lines", "counts", "counts-changelog", "counts-repartition")))
    with count.run(tmp_path / "state") as program:
        with count.writing():
            for _ in range(steps):
                _wait_for_more(count)
                moves.make()
        until(lambda: count.counted() >= count.written, PATIENCE_S)
        assert program.stop() == ENDED_BY_SIGTERM
    assert count.counted() == count.written, moves.done


def _wait_for_more(count: WordCount) -> None:
    enough = sum(count.counted().values()) + WORDS_BETWEEN
    until(lambda: sum(count.counted().values()) >= enough, PATIENCE_S)
