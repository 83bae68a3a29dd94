"""kafka-acls. `barnabas acls` has its flags, and prints what there is in its own form."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.cli.kafka.flags import barnabas, choose, tool

_ACTIONS = ("add", "remove", "list")
_PATTERN_TYPE = "--resource-pattern-type"


def kafka_acls(arguments: Sequence[str]) -> int:
    """List, add and remove ACLs."""
    parser = tool("kafka-acls")
    parser.allow_abbrev = False  # --producer is a flag, and short for none
    for flag in (*_ACTIONS, "force"):
        parser.add_argument(f"--{flag}", action="store_true")
    options, words = parser.parse_known_args(arguments)
    action = choose(parser, options, _ACTIONS)
    if action == "remove" and not options.force:
        parser.error("--remove needs --force, since nobody is asked here")
    if action == "list" and not any(word.startswith(_PATTERN_TYPE) for word in words):
        words += [_PATTERN_TYPE, "literal"]
    status = barnabas("acls", options, action, *words)
    return 0 if action == "remove" else status  # that nothing was there is no failure of Kafka's tool
