"""The program that docs/pipeline.md and docs/doors/spark.md begin with, as it is written there."""

import re
from pathlib import Path

from pyspark.sql import SparkSession

from barnabas.client.client import Client
from tests.support.clients import topics
from tests.support.processes.server import ROOT, Server
from tests.support.spark.sink_query import committed_values

_DOOR = "doors/spark.md"
_FIRST = re.compile(r"```python[^\n]*\n(?:# copy_orders.py\n)?(import pyspark_barnabas.*?)```", re.DOTALL)


def test_the_first_program_copies_what_is_there_and_then_what_came_since(
    spark: SparkSession, server: Server, tmp_path: Path
) -> None:
    (program,) = _FIRST.findall((ROOT / "docs" / "pipeline.md").read_text(encoding="utf-8"))
    for written, here in (("127.0.0.1:9092", server.address), ("/checkpoints", str(tmp_path)), ("orders", "first_run")):
        assert written in program
        program = program.replace(written, here)
    for name in ("first_run", "first_run.copy"):
        topics.create(server.address, name, 1)
    for begin, end in ((0, 5), (5, 8)):
        topics.send(server.address, "first_run", (b"%d" % number for number in range(begin, end)))
        exec(program, {})
        with Client(server.address) as client:
            assert committed_values(client, "first_run.copy") == [str(number) for number in range(end)]


def test_the_door_has_the_same_program() -> None:
    """But for the place of its checkpoint."""
    programs = [_FIRST.findall((ROOT / "docs" / page).read_text(encoding="utf-8")) for page in ("pipeline.md", _DOOR)]
    assert programs[0] == [program.replace('"checkpoints/', '"/checkpoints/') for program in programs[1]]
