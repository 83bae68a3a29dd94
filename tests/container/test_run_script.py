"""docker/run without an image: which files and variables the broker would be started with."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.processes.server import ROOT


class Script:
    """The script, with Bitnami's place below a directory of the test's own, and a `barnabas` that prints its words."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._path = place / "run"
        self._path.write_text(
            (ROOT / "docker/run").read_text(encoding="utf-8").replace("/bitnami/kafka", f"{place}/bitnami/kafka")
        )
        (place / "bin").mkdir()
        (place / "bin/barnabas").write_text('#!/bin/sh\necho "$@"\nenv | grep ^KAFKA_ | sort\n')
        (place / "bin/barnabas").chmod(0o755)
        (place / "bitnami/kafka").mkdir(parents=True)

    def run(self, *words: str, **environment: str) -> list[str]:
        """The lines: the words that `barnabas` is given, and its variables."""
        variables = {"PATH": f"{self.place}/bin:{os.environ['PATH']}", **environment}
        done = subprocess.run(
            ["bash", self._path, *words], env=variables, capture_output=True, text=True, check=False, timeout=10
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def config_files(self, **environment: str) -> list[str]:
        words = self.run(**environment)[0].split()
        return [words[at + 1] for at, word in enumerate(words) if word == "--config"]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    return Script(tmp_path)


OWN = "/etc/kafka/docker/server.properties"
ON_THE_VOLUME = "/etc/kafka/docker/bitnami.properties"


def test_without_a_volume_on_bitnamis_place_the_images_own_file_states_where_the_data_are(script: Script) -> None:
    assert script.config_files() == [OWN]


def test_data_on_bitnamis_place_are_gone_on_with(script: Script) -> None:
    (script.place / "bitnami/kafka/data").mkdir()
    assert script.config_files() == [OWN, ON_THE_VOLUME]


@pytest.mark.parametrize("mounted", ["bitnami", "bitnami/kafka", "bitnami/kafka/data"])
def test_a_volume_on_bitnamis_place_is_seen_in_the_table_of_mounts(script: Script, mounted: str) -> None:
    table = script.place / "mountinfo"
    table.write_text(f"36 35 98:0 / {script.place}/{mounted} rw,noatime master:1 - ext4 /dev/sda1 rw\n")
    path = script.place / "run"
    path.write_text(path.read_text(encoding="utf-8").replace("/proc/self/mountinfo", str(table)))
    assert script.config_files() == [OWN, ON_THE_VOLUME]


def test_a_file_on_bitnamis_place_or_where_a_variable_specifies_is_read_last(script: Script) -> None:
    for place in ("bitnami/kafka/config", "elsewhere"):
        (script.place / place).mkdir()
        (script.place / place / "server.properties").touch()
    assert script.config_files() == [OWN, f"{script.place}/bitnami/kafka/config/server.properties"]
    elsewhere = f"{script.place}/elsewhere"
    assert script.config_files(KAFKA_MOUNTED_CONF_DIR=elsewhere) == [OWN, f"{elsewhere}/server.properties"]


def test_an_address_advertised_by_bitnamis_variable_moves_no_listener(script: Script) -> None:
    assert script.run(KAFKA_CFG_ADVERTISED_LISTENERS="PLAINTEXT://localhost:29092")[1:] == [
        "KAFKA_CFG_ADVERTISED_LISTENERS=PLAINTEXT://localhost:29092"
    ]
    assert "KAFKA_LISTENERS=PLAINTEXT://:29092" in script.run(KAFKA_ADVERTISED_LISTENERS="PLAINTEXT://localhost:29092")


def test_the_clock_may_be_moved_where_a_variable_reports_it(script: Script) -> None:
    assert "--control" not in script.run()[0].split()
    assert script.run(BARNABAS_CONTROL="1")[0].endswith("--http 0.0.0.0:9404 --control")
    for no in ("0", "no", "false"):
        assert "--control" not in script.run(BARNABAS_CONTROL=no)[0].split()
