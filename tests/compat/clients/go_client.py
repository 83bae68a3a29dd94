"""A client that is written in Go: there is one program, started once for each of them (go/main.go)."""

from tests.compat.clients.servant import Servant
from tests.support.clients.go import go_clients


class GoClient(Servant):
    def __init__(self, name: str) -> None:
        super().__init__(name, lambda: [str(go_clients()), name])
