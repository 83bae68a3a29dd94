"""A client that is written in JavaScript, in one Node.js process that serves all tests (js/servant.mjs)."""

from pathlib import Path

from tests.compat.clients.servant import Servant
from tests.support.clients.npm import node_of

HOME = Path(__file__).resolve().parents[1] / "js"
PROGRAMS = {"kafkajs": HOME / "kafkajs.mjs", "platformatic": HOME / "platformatic" / "client.mjs"}


class JsClient(Servant):
    """idempotent: number the batches of `write` too, not only those of `stream`."""

    def __init__(self, name: str, *, idempotent: bool = False) -> None:
        program = PROGRAMS[name]
        flags = ["--idempotent"] if idempotent else []
        super().__init__(name, lambda: [node_of(program.parent), str(program), *flags])
        self.writes_null_headers = name != "kafkajs"
