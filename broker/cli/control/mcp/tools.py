"""The tools: each with its parameters, what it is for, and the command line that it stands for. Pure.

A tool runs a command of `barnabas`, and nothing else, so that an agent sees what a person would see. Those that change
a broker are offered with --allow-changes only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

RECORDS_MAX = 100
"""The most records, events or lines of one answer."""
_Limit = Annotated[int, Field(ge=1, le=RECORDS_MAX)]
_Partition = Annotated[int, Field(ge=0)]
_Offset = Annotated[int, Field(ge=0)]

_NO_RECORDS = {
    "read_committed": (
        "No records. describe_topic has the offsets. Records from the last stable offset on are behind an open "
        "transaction: list_transactions names it, and isolation=read_uncommitted shows them."
    ),
    "read_uncommitted": "No records. describe_topic has the offsets.",
}


class Invocation(NamedTuple):
    """A command line without `barnabas`, what it reads from stdin, and the answer where it prints nothing."""

    words: list[str]
    stdin: str = ""
    if_nothing: str = ""


class CommandTool(NamedTuple):
    """A tool. command_of: a function of the tool's parameters, with its description as docstring."""

    command_of: Callable[..., Invocation]
    changes: bool = False

    @property
    def name(self) -> str:
        return self.command_of.__name__


def list_topics(include_internal: bool = False) -> Invocation:
    """List the names of all topics."""
    return Invocation(["topics", "list", "--json", *(["--internal"] if include_internal else [])])


def describe_topic(topic: str) -> Invocation:
    """Describe a topic: its partitions with leaders, first and next offsets, and the configs that were set."""
    return Invocation(["topics", "describe", "--offsets", "--json", "--", topic])


def read_records(
    topic: str,
    partition: _Partition | None = None,
    offset: _Offset | Literal["earliest", "latest"] = "earliest",
    limit: _Limit = 20,
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
) -> Invocation:
    """Read records of a topic, from an offset on, up to the end. An offset other than earliest needs a partition."""
    words = ["consume", "--json", "--exit-at-end", "--max-messages", str(limit), "--isolation", isolation]
    words += [] if partition is None else ["--partition", str(partition)]
    words += ["--from-beginning"] if offset == "earliest" else ["--offset", str(offset)]
    return Invocation([*words, "--", topic], if_nothing=_NO_RECORDS[isolation])


def list_groups() -> Invocation:
    """List all groups with their types and states."""
    return Invocation(["groups", "list", "--json"])


def describe_group(group: str) -> Invocation:
    """Describe a group: its state, its members, and the lag of each partition."""
    return Invocation(["groups", "describe", "--json", "--", group])


def list_transactions() -> Invocation:
    """List the transactional ids with their producers and states."""
    return Invocation(["txn", "list", "--json"])


def describe_transaction(transactional_id: str) -> Invocation:
    """Describe a transactional id: state, producer, timeout, age, and the partitions of an open transaction."""
    return Invocation(["txn", "describe", "--json", "--", transactional_id])


def describe_configs(topic: str | None = None, include_defaults: bool = False) -> Invocation:
    """Describe the configs of a topic, or, without one, those that all brokers share."""
    what = ["--broker-defaults"] if topic is None else ["--topic", topic]
    return Invocation(["configs", "describe", "--json", *what, *(["--all"] if include_defaults else [])])


def why_consumer(group: str, topic: str | None = None) -> Invocation:
    """Explain why the consumers of a group get no records, or stop. The broker needs --control."""
    return Invocation(["why", "consumer", "--json", "--", group, *([] if topic is None else [topic])])


def why_producer(transactional_id: str) -> Invocation:
    """Explain why a transactional producer was fenced or refused, or what its commit waits for. Needs --control."""
    return Invocation(["why", "producer", "--json", "--", transactional_id])


def why_record(topic: str, partition: _Partition, offset: _Offset) -> Invocation:
    """Explain what became of a record, and which consumers can read it. The broker needs --control."""
    return Invocation(["why", "record", "--json", "--", f"{topic}:{partition}:{offset}"])


def why_group(group: str) -> Invocation:
    """Explain what a rebalance of a group waits for, member by member. The broker needs --control."""
    return Invocation(["why", "group", "--json", "--", group])


def why_hanging() -> Invocation:
    """Explain everything that hangs: transactions, rebalances, requests. Ask this first. Needs --control."""
    return Invocation(["why", "hanging", "--json"])


def trace(
    kind: str | None = None,
    group: str | None = None,
    transactional_id: str | None = None,
    topic: str | None = None,
    limit: _Limit = 30,
) -> Invocation:
    """Show the latest events in the broker with their causes, such as kind=transaction. Needs --control."""
    given = {"--kind": kind, "--group": group, "--transactional-id": transactional_id, "--topic": topic}
    words = [f"{name}={value}" for name, value in given.items() if value is not None]
    return Invocation(["trace", "--json", f"--limit={limit}", *words])


def list_faults() -> Invocation:
    """List the armed faults, and how often each matched and fired. The broker needs --control."""
    return Invocation(["faults", "list", "--json"])


def show_clock() -> Invocation:
    """Show the time of the broker's clock, and whether it runs. The broker needs --control."""
    return Invocation(["clock", "show", "--json"])


def create_topic(
    topic: str, partitions: Annotated[int, Field(ge=1)] = 1, configs: dict[str, str] | None = None
) -> Invocation:
    """Create a topic."""
    settings = [f"--config={name}={value}" for name, value in (configs or {}).items()]
    return Invocation(["topics", "create", "--json", f"--partitions={partitions}", *settings, "--", topic])


def produce_record(topic: str, value: str, key: str | None = None, partition: _Partition | None = None) -> Invocation:
    """Produce one record of text. Neither key nor value may have a line break."""
    if any(mark in text for text in (value, key or "") for mark in "\n\r\x1f"):
        raise ValueError("a key or a value with a line break, or with the character U+001F, cannot be produced")
    words = ["produce", "--json", *([] if partition is None else ["--partition", str(partition)])]
    if key is None:
        return Invocation([*words, "--", topic], value + "\n")
    return Invocation([*words, "--key-separator", "\x1f", "--", topic], f"{key}\x1f{value}\n")


def abort_transaction(transactional_id: str) -> Invocation:
    """Abort the open transaction of a transactional id. Its producer is fenced."""
    return Invocation(["txn", "abort", "--json", "--", transactional_id])


def arm_faults(plan: dict[str, object]) -> Invocation:
    """Arm a plan of faults.

    For example {"version": 1, "faults": [{"match": {"api": "EndTxn"}, "do": {"lose_answer": true}}]}.
    """
    return Invocation(["faults", "arm", "--json", "-"], json.dumps(plan))


def disarm_faults() -> Invocation:
    """Disarm all faults."""
    return Invocation(["faults", "reset", "--json"])


def advance_clock(time: str) -> Invocation:
    """Move the broker's clock ahead by a time such as 90s, 15m or 7d, and wait until all that fell due is done."""
    return Invocation(["clock", "advance", "--json", "--", time])


_READING: tuple[Callable[..., Invocation], ...] = (
    *(list_topics, describe_topic, read_records, list_groups, describe_group),
    *(list_transactions, describe_transaction, describe_configs),
    *(why_consumer, why_producer, why_record, why_group, why_hanging, trace, list_faults, show_clock),
)
_CHANGING: tuple[Callable[..., Invocation], ...] = (
    *(create_topic, produce_record, abort_transaction, arm_faults, disarm_faults, advance_clock),
)
TOOLS = (*(CommandTool(each) for each in _READING), *(CommandTool(each, changes=True) for each in _CHANGING))
