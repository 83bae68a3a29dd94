"""`barnabas txn`: list, describe, abort, find-hanging. Its sentences are in txn_words.py."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import Parser, connected, shared_options, whole
from barnabas.broker.cli.terminal.output import counted, print_json, print_table
from barnabas.broker.cli.terminal.topic_choice import add_topic_option, named_partitions, single_partition
from barnabas.broker.cli.transactions import txn_words
from barnabas.client.admin.transactions import (
    MAX_TIMEOUT_MS,
    STATES,
    PartitionProducer,
    TransactionHold,
    TransactionInfo,
    abort_on_partition,
    describe_producers,
    describe_transactions,
    fence,
    find_hanging,
    find_open,
    holds_of,
    list_transactions,
    partition_ends,
)
from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.near_names import did_you_mean
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.transaction_states import ONGOING, OPEN_STATES


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    if options.action is _abort:
        _check_abort(options)
    with connected(options) as client:
        options.action(client, options)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parents = shared_options(again=True)
    top = Parser(
        prog="barnabas txn", description="List and describe transactions, and abort them.", parents=shared_options()
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", parents=parents, help="list the transactional ids, with their states")
    listing.add_argument("--state", action="append", default=[], metavar="STATE", help="only in this state")
    listing.add_argument(
        "--producer-id", action="append", type=whole, default=[], metavar="N", help="only of this producer id"
    )
    listing.add_argument(
        "--longer-than-ms",
        type=whole,
        default=-1,
        metavar="MS",
        help="only transactions that began longer ago than this",
    )
    listing.add_argument("--pattern", metavar="RE2", help="only ids that match this regular expression completely")
    listing.set_defaults(action=_list)

    describe = commands.add_parser(
        "describe", parents=parents, help="print state, age, partitions, and which readers wait"
    )
    describe.add_argument(
        "ids", metavar="ID", nargs="*", help="transactional ids; default: those with an open transaction"
    )
    describe.set_defaults(action=_describe)

    abort = commands.add_parser("abort", parents=parents, help="abort a transaction that its producer does not end")
    abort.add_argument("ids", metavar="ID", nargs="*", help="transactional ids: their producers are fenced")
    abort.add_argument(
        "--partition",
        type=single_partition,
        metavar="TOPIC:N",
        help="write an abort marker to this partition only, without the coordinator",
    )
    abort.add_argument(
        "--start-offset", type=whole, metavar="N", help="the first offset of the transaction in that partition"
    )
    abort.set_defaults(action=_abort)

    search = commands.add_parser(
        "find-hanging", parents=parents, help="find open transactions that no coordinator will end"
    )
    add_topic_option(search, "only in this one")
    search.add_argument(
        "--longer-than-ms",
        type=whole,
        default=MAX_TIMEOUT_MS,
        metavar="MS",
        help=f"only if the producer wrote nothing for longer than this (default {MAX_TIMEOUT_MS})",
    )
    search.set_defaults(action=_find_hanging)
    return top


# --- list ---


def _list(client: Client, options: argparse.Namespace) -> None:
    try:
        listed = list_transactions(
            client,
            states=options.state,
            producer_ids=options.producer_id,
            longer_than_ms=options.longer_than_ms,
            pattern=options.pattern,
        )
    except ValueError as unknown:
        meant = next((did_you_mean(each, STATES) for each in options.state if each not in STATES), "")
        raise UsageError(f"txn list: {unknown}{meant or ', but ' + ', '.join(STATES)}") from unknown
    now_ms = client.clock.now_ms()
    open_ones = _describe_what_is_left(client, [each.transactional_id for each in listed if each.state in OPEN_STATES])
    rows: list[dict[str, Any]] = []
    for each in listed:
        txn = open_ones.get(each.transactional_id)
        rows.append(
            each._asdict()
            | {"age_ms": txn and txn_words.age_ms(txn, now_ms), "partitions": txn and len(txn.partitions)}
        )
    if options.json:
        print_json(rows)
    elif rows:
        header = ["transactional_id", "producer_id", "state", "age", "partitions"]
        print_table(header, [_list_cells(row) for row in rows])


def _describe_what_is_left(client: Client, ids: Sequence[str]) -> dict[str, TransactionInfo]:
    """Return the descriptions of these transactions, without those that ended since they were listed."""
    found = {}
    for transactional_id in ids:
        try:
            (txn,) = describe_transactions(client, [transactional_id])
        except KafkaError as gone:
            if gone.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
        else:
            found[transactional_id] = txn
    return found


def _list_cells(row: dict[str, Any]) -> list[object]:
    age = "-" if row["age_ms"] is None else txn_words.duration(row["age_ms"])
    partitions = "-" if row["partitions"] is None else row["partitions"]
    return [row["transactional_id"], row["producer_id"], row["state"], age, partitions]


# --- describe ---


def _describe(client: Client, options: argparse.Namespace) -> None:
    ids = options.ids or [each.transactional_id for each in list_transactions(client, states=sorted(OPEN_STATES))]
    transactions = describe_transactions(client, ids)
    holds = _holds(client, [(txn.producer_id, txn.partitions) for txn in transactions])
    now_ms = client.clock.now_ms()
    if options.json:
        print_json([_facts(txn, held, now_ms) for txn, held in zip(transactions, holds, strict=True)])
        return
    for index, (txn, held) in enumerate(zip(transactions, holds, strict=True)):
        if index:
            print()
        print(f"{txn.transactional_id}  producer {txn.producer_id}, epoch {txn.producer_epoch}")
        print(f"  {txn_words.standing(txn, now_ms)}")
        for sentence in txn_words.blocked(txn, held, now_ms):
            print(f"  {sentence}")


def _facts(txn: TransactionInfo, holds: Sequence[TransactionHold], now_ms: int) -> dict[str, Any]:
    held = {(hold.topic, hold.partition): hold for hold in holds}
    rows = []
    for topic, partition in txn.partitions:
        hold = held.get((topic, partition))
        rows.append({"topic": topic, "partition": partition} | _hold_facts(hold))
    age = txn_words.age_ms(txn, now_ms)
    facts = txn._asdict() | {"age_ms": age, "partitions": rows}
    return {key: None if key == "start_timestamp_ms" and value < 0 else value for key, value in facts.items()}


def _hold_facts(hold: TransactionHold | None) -> dict[str, int | None]:
    names = ("txn_start_offset", "last_stable_offset", "high_watermark", "held_back", "in_front")
    return {("held_back_by" if name == "in_front" else name): hold and getattr(hold, name) for name in names}


def _holds(client: Client, wanted: Sequence[tuple[int, list[TopicPartition]]]) -> list[list[TransactionHold]]:
    """Return for each (producer id, partitions) where its open transaction holds consumers back."""
    places = {place for _, partitions in wanted for place in partitions}
    existing = _existing(client, places)
    producers = describe_producers(client, sorted(existing))
    ends = partition_ends(client, sorted(existing))
    return [
        holds_of(producer_id, [each for each in producers if each.place in partitions], ends)
        for producer_id, partitions in wanted
    ]


def _existing(client: Client, places: Iterable[TopicPartition]) -> set[TopicPartition]:
    """Return the partitions that still exist, and were not deleted during the transaction."""
    wanted = set(places)
    topics = client.refresh({topic for topic, _ in wanted}, client.deadline()).topics
    return {(name, number) for name, number in wanted if name in topics and number in topics[name].partitions}


# --- abort ---


def _check_abort(options: argparse.Namespace) -> None:
    if bool(options.ids) == (options.partition is not None):
        raise UsageError("txn abort: give transactional ids, or --partition with --start-offset")
    if (options.partition is None) != (options.start_offset is None):
        raise UsageError("txn abort: --partition and --start-offset need each other")


def _abort(client: Client, options: argparse.Namespace) -> None:
    if options.partition is not None:
        _abort_by_force(client, options)
        return
    transactions = describe_transactions(client, options.ids)
    for txn in transactions:
        _check_open(txn)
    done = []
    for txn in transactions:
        identity = fence(client, txn.transactional_id)
        done.append({"transactional_id": txn.transactional_id, "partitions": len(txn.partitions)} | identity._asdict())
        if not options.json:
            print(
                f"aborted {txn.transactional_id} in {counted(len(txn.partitions), 'partition')}; its producer is fenced"
            )
    if options.json:
        print_json(done)


def _check_open(txn: TransactionInfo) -> None:
    """Raise INVALID_TXN_STATE unless there is a transaction to abort: else its producer would be fenced needlessly."""
    if txn.state == ONGOING:
        return
    why = "is ending already" if txn.state in OPEN_STATES else "has no open transaction"
    raise KafkaError(ErrorCode.INVALID_TXN_STATE, f"{txn.transactional_id!r} {why}: it is {txn.state}")


def _abort_by_force(client: Client, options: argparse.Namespace) -> None:
    producer = find_open(client, options.partition, options.start_offset)
    abort_on_partition(client, producer)
    if options.json:
        print_json(producer._asdict())
        return
    print(
        f"aborted the open transaction of producer {producer.producer_id} in {producer.topic}-{producer.partition} "
        f"since offset {producer.txn_start_offset}; other partitions are unchanged"
    )


# --- find-hanging ---


def _find_hanging(client: Client, options: argparse.Namespace) -> None:
    places = named_partitions(client, options.topic) if options.topic else _everything(client)
    found = find_hanging(client, places, longer_than_ms=options.longer_than_ms)
    holds = _holds(client, [(each.producer_id, [each.place]) for each in found])
    now_ms = client.clock.now_ms()
    standing = [(each, held[0]) for each, held in zip(found, holds, strict=True) if held]
    if options.json:
        print_json([_hanging_facts(each, hold, now_ms) for each, hold in standing])
        return
    for each, hold in standing:
        print("\n".join(txn_words.hanging(each, hold, now_ms)))
    if not standing:
        print(f"nothing hangs in {counted(len(places), 'partition')}")


def _hanging_facts(producer: PartitionProducer, hold: TransactionHold, now_ms: int) -> dict[str, Any]:
    return producer._asdict() | _hold_facts(hold) | {"silent_ms": now_ms - producer.last_timestamp_ms}


def _everything(client: Client) -> list[TopicPartition]:
    """Return every partition. Internal ones too: a group's offsets can hang as well."""
    topics = client.refresh(None, client.deadline()).topics
    return sorted((name, number) for name, topic in topics.items() for number in topic.partitions)
