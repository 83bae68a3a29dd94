"""Apache Kafka over a directory that was handed over, with the server.properties that `barnabas handover` prints."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from barnabas.broker.cli.handover.releases import RELEASES, release_of
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.server import ROOT
from tests.support.waiting import PATIENCE_S


def levels_for(version: str) -> dict[str, int]:
    """The levels of the features that a directory must not exceed for this version of Kafka."""
    known = RELEASES[str(release_of(version))]
    return {feature: known.get(feature, 0) for feature in ("share.version", "streams.version")}


def handover(*arguments: str) -> tuple[int, str]:
    """The exit status of `barnabas handover`, and what it printed."""
    command = [str(ROOT / ".venv" / "bin" / "barnabas"), "handover", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout + done.stderr


def checked(data_dir: Path, version: str) -> dict[str, Any]:
    """The output of `barnabas handover --check` for a directory that is ready for this version of Kafka."""
    status, printed = handover("--check", str(data_dir), "--to", version, "--json")
    assert status == 0, printed
    found: dict[str, Any] = json.loads(printed)
    return found


class HandedOverKafka(KafkaProcess):
    """A Kafka as its user would start it. own: settings that only Kafka understands, which the user adds.

    others: further data directories of the node.
    """

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, object],
        own: Mapping[str, object],
        version: str,
        others: Sequence[Path] = (),
    ) -> None:
        self._directories = [str(path) for path in (data_dir, *others)]
        super().__init__(data_dir, {**settings, **own, "log.dirs": ",".join(self._directories)}, version=version)
        self._handed_over = settings
        self._own = own

    def write_properties(self) -> Path:
        if not (self.data_dir / "meta.properties").exists():
            return super().write_properties()
        served = [word for key, value in self._handed_over.items() for word in ("--set", f"{key}={value}")]
        places = ("--port", str(self.port), "--controller-port", str(self.controller_port))
        status, printed = handover("--properties", *self._directories, *places, *served)
        assert status == 0, printed
        path = self.data_dir.with_name(f"{self.data_dir.name}.properties")
        path.write_text(printed + "".join(f"{key}={value}\n" for key, value in self._own.items()))
        return path
