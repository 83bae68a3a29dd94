"""The Java client, one version of it, in one JVM (java/StockClient.java)."""

from pathlib import Path

from tests.compat.clients.servant import Servant
from tests.support.clients.java import program_command

SOURCE = Path(__file__).resolve().parents[1] / "java" / "StockClient.java"


class JavaClient(Servant):
    def __init__(self, version: str) -> None:
        super().__init__(f"java-{version}", lambda: program_command(SOURCE, client_version=version))
