"""`barnabas nodes`: list, stop, start, move. Which node leads which partitions, and moving leaders."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from barnabas.broker.cli.terminal.options import INT32_MAX, Parser, at_most, connected, shared_options, whole
from barnabas.broker.cli.terminal.output import counted, print_json, print_table, report
from barnabas.broker.cli.terminal.topic_choice import METAVAR, named_partition_infos, topic_choice
from barnabas.client.admin.nodes import elect_preferred, list_nodes, reassign, start_node, stop_node
from barnabas.client.admin.topics import list_topics
from barnabas.client.client import Client
from barnabas.client.metadata import PartitionInfo, TopicInfo

_NODE = at_most(INT32_MAX, whole)


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    with connected(options) as client:
        options.action(client, options)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parents = shared_options(again=True)
    top = Parser(
        prog="barnabas nodes", description="List, stop and start nodes, and move leaders.", parents=shared_options()
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser(
        "list", parents=parents, help="list the nodes, whether each runs, and how many partitions each leads"
    )
    listing.set_defaults(action=_list)

    for name, text, action in (
        ("stop", "stop one node while the others serve", _stop),
        ("start", "start a stopped node", _start),
    ):
        switching = commands.add_parser(name, parents=parents, help=text)
        switching.add_argument("node", metavar="NODE", type=_NODE, help="its id")
        switching.set_defaults(action=action)

    move = commands.add_parser("move", parents=parents, help="make a node the leader of partitions")
    move.add_argument("places", type=topic_choice, metavar=METAVAR, nargs="+", help="a topic, or partitions of it")
    move.add_argument("--to", metavar="NODE", type=_NODE, required=True, help="the id of the new leader")
    move.set_defaults(action=_move)
    return top


def _list(client: Client, options: argparse.Namespace) -> None:
    topics = list_topics(client)
    found = []
    for node in list_nodes(client):
        leads, follows = (
            [row for row in _partitions(topics) if test(row, node.node_id)] for test in (_leads, _follows)
        )
        state = "stopped" if node.is_stopped else "running"
        found.append((node.node_id, f"{node.host}:{node.port}", node.rack or "", state, len(leads), len(follows)))
    header = ("node", "address", "rack", "state", "leads", "follows")
    if options.json:
        print_json([dict(zip(header, row, strict=True)) for row in found])
    else:
        print_table(header, found)


def _partitions(topics: Sequence[TopicInfo]) -> list[PartitionInfo]:
    return [info for topic in topics for info in topic.partitions.values()]


def _leads(info: PartitionInfo, node: int) -> bool:
    return info.leader_id == node


def _follows(info: PartitionInfo, node: int) -> bool:
    return info.leader_id != node and node in info.isr


def _stop(client: Client, options: argparse.Namespace) -> None:
    stop_node(client, options.node)
    report(options, {"node": options.node, "stopped": True}, f"stopped node {options.node}")


def _start(client: Client, options: argparse.Namespace) -> None:
    start_node(client, options.node)
    report(options, {"node": options.node, "stopped": False}, f"started node {options.node}")


def _move(client: Client, options: argparse.Namespace) -> None:
    infos = named_partition_infos(client, options.places)
    places = sorted(infos)
    reassign(client, {place: led_by(options.to, infos[place]) for place in places})
    elect_preferred(client, places)
    moved = {"node": options.to, "partitions": [f"{topic}-{number}" for topic, number in places]}
    report(options, moved, f"node {options.to} leads {counted(len(places), 'partition')}")


def led_by(node: int, info: PartitionInfo) -> list[int]:
    """Return as many replicas as before, with the node first; a node that was none of them replaces the leader."""
    others = [replica for replica in info.replicas if replica != node]
    if node not in info.replicas:
        others = [replica for replica in others if replica != info.leader_id][: len(info.replicas) - 1]
    return [node, *others]
