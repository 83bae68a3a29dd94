"""The registries that the probe book and stock clients ask: Barnabas's own, and Apicurio Registry in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.support.ports import unused_port
from tests.support.processes.broker import BrokerProcess
from tests.support.stack.registry import Registry


class RegistryBroker(BrokerProcess):
    """A broker with its schema registry at `registry_url`."""

    def __init__(self, data_dir: Path, flags: Sequence[str] = ()) -> None:
        self.registry_port = unused_port()
        super().__init__(data_dir, flags=(f"--registry={self.registry_port}", *flags))

    @property
    def registry_url(self) -> str:
        """What clients take as schema.registry.url."""
        return f"http://127.0.0.1:{self.registry_port}"


class ApicurioInMemory(Registry):
    """Apicurio Registry that stores nothing: a fresh one at each start."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "")

    def command(self) -> Sequence[str]:
        kept_by_kafka = ("APICURIO_STORAGE_KIND=", "APICURIO_KAFKASQL_")
        words = [word for word in super().command() if not word.startswith(kept_by_kafka)]
        return [words[0], "APICURIO_STORAGE_KIND=sql", *words[1:]]
