"""Kafka's command-line tools as commands in a directory, which hand what they are given to the JVM of the tests.

A command is a Python script that calls over a socket: a JVM for each would take seconds.
"""

import json
import re
import socketserver
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Protocol

_CLASSES = {
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-delegation-tokens.sh": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-configs.sh": "org.apache.kafka.tools.ConfigCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}
_SCRIPT = """#!{python} -IS
import json, os, socket, sys
with socket.create_connection(("127.0.0.1", {port})) as sock, sock.makefile("rw") as stream:
    stdin = "" if sys.stdin.isatty() else sys.stdin.read()
    print(json.dumps(["{main}", os.getcwd(), stdin, sys.argv[1:]]), file=stream, flush=True)
    status, out, err = json.loads(stream.readline())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(status)
"""


class Said(Protocol):
    """How a tool ended, and what it printed."""

    @property
    def status(self) -> int: ...
    @property
    def out(self) -> str: ...
    @property
    def err(self) -> str: ...


Run = Callable[..., Said]
"""Runs the tool of a main class with arguments, and `stdin`."""


@contextmanager
def kafka_tools(directory: Path, run: Run) -> Iterator[None]:
    """Have the tools as commands in `directory`."""

    class Asked(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            main, place, stdin, arguments = json.loads(self.rfile.readline())
            result = run(main, *_absolute(Path(place), arguments), stdin=stdin)
            self.wfile.write(json.dumps([result.status, result.out, result.err]).encode() + b"\n")

    with socketserver.TCPServer(("127.0.0.1", 0), Asked) as server:
        directory.mkdir(exist_ok=True)
        for name, main in _CLASSES.items():
            script = directory / name
            script.write_text(_SCRIPT.format(python=sys.executable, port=server.server_address[1], main=main))
            script.chmod(0o755)
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def _absolute(place: Path, arguments: Sequence[str]) -> list[str]:
    """With the places of files as seen from the directory of the JVM: settings of clients, and stores in them."""
    found = list(arguments)
    if "--command-config" in found:
        at = found.index("--command-config") + 1
        settings = place / found[at]
        seen = settings.with_name(f".{settings.name}")
        text = settings.read_text(encoding="utf-8")
        seen.write_text(re.sub(r"(?m)^(ssl\.\w+\.location=)(?=[^/])", rf"\g<1>{place}/", text))
        found[at] = str(seen)
    return found
