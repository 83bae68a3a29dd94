"""Transactional ids say whose they are, and nobody else's id is taken for one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_barnabas.commit.identity import RunToken, Sink, TaskId, parse_task_id, task_pattern

counts = st.integers(0, 2**63 - 1)


@given(st.text(min_size=1), counts, st.integers(0, 32767), counts, counts)
def test_an_id_is_read_as_it_was_written(prefix: str, producer_id: int, epoch: int, partition: int, task: int) -> None:
    written = TaskId(prefix, RunToken(producer_id, epoch), partition, task)
    assert parse_task_id(str(written)) == written
    assert re.search(task_pattern(prefix).replace("$", r"\Z"), str(written))


def test_an_id_has_the_prefix_the_run_the_partition_and_the_attempt() -> None:
    assert str(TaskId("shop", RunToken(4711, 2), 0, 83)) == "shop.4711-2.0.83"
    assert Sink("shop", "q").driver_id == "shop.driver"


@pytest.mark.parametrize(
    "other", ["shop.driver", "shop.4711-2.0", "4711-2.0.83", "shop.4711-2.0.083", "shop.4711.0.8", ""]
)
def test_other_ids_are_nobodys(other: str) -> None:
    assert parse_task_id(other) is None


def test_a_prefix_is_not_taken_for_a_longer_one() -> None:
    task = parse_task_id("shop.eu.4711-2.0.83")
    assert task is not None
    assert task.prefix == "shop.eu"
    assert not re.search(task_pattern("shop"), "shop.eu.4711-2.0.83")
    assert not re.search(task_pattern("shop.eu"), "shopXeu.4711-2.0.83")
