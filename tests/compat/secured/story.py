"""What every client does over a secured listener, and how its program is told where.

A program gets the words of Settings in their order. It writes COMMITTED in a transaction that commits and ABORTED in
one that aborts, joins a group that reads committed records, and prints what it read. Where that fails it prints why on
stderr and ends with status 1.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

COMMITTED = ("one", "two", "three")
ABORTED = ("nothing",)


class Settings(NamedTuple):
    """name: of the topic, the group and the transactional id; authority: a PEM file, empty without TLS.

    By OAUTHBEARER `password` is a token; it is empty where the client makes one that nobody signed, as some can.
    """

    address: str
    protocol: str
    mechanism: str
    user: str
    password: str
    authority: str
    name: str


def tell(run: Callable[[Settings], list[str]]) -> None:
    """Be the program of a client."""
    try:
        found = run(Settings(*sys.argv[1:]))
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")
    sys.stdout.write("\n".join(found))
