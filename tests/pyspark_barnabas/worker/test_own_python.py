"""When the program's own Python is given to Spark's workers, and when nothing is touched."""

import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pyspark_barnabas.worker.own_python import VARIABLE, choose, read_defaults, use_own_python

OWN = "/venv/bin/python"


def test_another_python_in_the_path_is_not_what_workers_should_run() -> None:
    assert choose({}, OWN, "/usr/bin/python3") == OWN
    assert choose({}, OWN, None) == OWN


@pytest.mark.parametrize(
    "environment",
    [
        {"PYSPARK_PYTHON": "/other/python"},
        {"PYSPARK_GATEWAY_PORT": "4711"},
        {"SPARK_REMOTE": "sc://server"},
        {"PYSPARK_SUBMIT_ARGS": "--conf spark.pyspark.python=/other/python pyspark-shell"},
        # of a cluster
        {"MASTER": "spark://head:7077"},
        {"SPARK_MASTER": "yarn"},
        {"HADOOP_CONF_DIR": "/etc/hadoop"},
        {"YARN_CONF_DIR": "/etc/hadoop"},
        {"PYSPARK_SUBMIT_ARGS": "--name job --master k8s://https://head:6443 pyspark-shell"},
        {"PYSPARK_SUBMIT_ARGS": "--master=yarn pyspark-shell"},
        {"PYSPARK_SUBMIT_ARGS": "--conf 'spark.master=yarn' pyspark-shell"},
    ],
)
def test_values_of_other_places_and_the_executors_python_stay(environment: dict[str, str]) -> None:
    assert choose(environment, OWN, "/usr/bin/python3") is None


@pytest.mark.parametrize("line", ["spark.master yarn", "  spark.master=spark://head:7077", "spark.pyspark.python /py"])
def test_the_defaults_of_an_installation_are_what_is_reported_elsewhere(line: str) -> None:
    assert choose({}, OWN, "/usr/bin/python3", f"spark.ui.enabled false\n{line}\n") is None
    assert choose({}, OWN, "/usr/bin/python3", f"# {line}\n") == OWN


def test_a_local_master_is_this_machine() -> None:
    local = {"MASTER": "local[*]", "PYSPARK_SUBMIT_ARGS": "--master local-cluster[2,1,1024] pyspark-shell"}
    assert choose(local, OWN, "/usr/bin/python3", "spark.master   local[4]\n") == OWN


def _set_by(monkeypatch: pytest.MonkeyPatch, pyspark: ModuleType) -> str | None:
    """What importing sets, with this pyspark imported already and another Python in the PATH."""
    for name in list(os.environ):
        if name == "MASTER" or name.startswith(("PYSPARK_", "SPARK_", "HADOOP_", "YARN_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv(VARIABLE, "")  # so that it is put back as it was
    monkeypatch.setattr(shutil, "which", lambda _: "/another/python3")
    monkeypatch.setitem(sys.modules, "pyspark", pyspark)
    use_own_python()
    return os.environ[VARIABLE] or None


class _Context:
    _active_spark_context: object = None


def test_a_client_of_spark_connect_has_no_context_and_starts_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    full = ModuleType("pyspark")
    full.__dict__["SparkContext"] = _Context
    assert _set_by(monkeypatch, full) == sys.executable
    assert _set_by(monkeypatch, ModuleType("pyspark")) is None
    monkeypatch.setattr(_Context, "_active_spark_context", object())
    assert _set_by(monkeypatch, full) is None


def test_the_defaults_are_read_where_spark_reads_them(tmp_path: Path) -> None:
    folder = tmp_path / "conf"
    folder.mkdir()
    assert read_defaults({"SPARK_HOME": str(tmp_path)}) == ""
    (folder / "spark-defaults.conf").write_text("spark.master yarn\n")
    for environment in ({"SPARK_HOME": str(tmp_path)}, {"SPARK_HOME": "/elsewhere", "SPARK_CONF_DIR": str(folder)}):
        assert read_defaults(environment) == "spark.master yarn\n"
    assert read_defaults({}) == ""


def test_an_environment_that_is_activated_needs_nothing(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.touch()
    for environment in ("one", "another"):
        (tmp_path / environment).mkdir()
        for name in ("python", "python3"):
            (tmp_path / environment / name).symlink_to(base)
    assert choose({}, str(tmp_path / "one/python"), str(tmp_path / "one/python3")) is None
    assert choose({}, str(tmp_path / "one/python"), str(tmp_path / "another/python3")) is not None


def test_without_a_name_of_its_own_nothing_is_set() -> None:
    assert choose({}, "", "/usr/bin/python3") is None
