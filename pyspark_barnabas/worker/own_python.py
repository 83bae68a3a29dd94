"""The Python that Spark starts for its workers: the program's own, if nothing else is configured.

Spark starts `python3` from the PATH. In a virtual environment that is not activated that is another Python, which does
not have this package, and Spark reports DATA_SOURCE_NOT_FOUND. So importing this package sets PYSPARK_PYTHON for the
next session. A value that is set already stays; and if a program was submitted, or uses a server, Spark's rules hold.

Spark has executors on other machines start the same path, where it need not exist: so nothing is set if the
environment names a cluster. The master that a program sets itself, later, is not known here.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

VARIABLE = "PYSPARK_PYTHON"
_SUBMITTED = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")  # set by spark-submit, or Spark Connect, in the environment
_CLUSTER = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")  # where a cluster's settings are
_MASTER = ("MASTER", "SPARK_MASTER")
_ARGUMENT = re.compile(r"""(?:--master[ =]|\bspark\.master=)\s*["']?([^\s"']+)""")
_DEFAULT = re.compile(r"^\s*spark\.master\s*[\s=:]\s*(\S+)", re.MULTILINE)
_PYTHON = "spark.pyspark.python"


def choose(environment: Mapping[str, str], executable: str, found: str | None, defaults: str = "") -> str | None:
    """Return the value to set; None to leave it. executable: of this program. found: the `python3` in the PATH.

    defaults: the text of spark-defaults.conf.
    """
    if any(environment.get(each) for each in (VARIABLE, *_SUBMITTED, *_CLUSTER)):
        return None
    arguments = environment.get("PYSPARK_SUBMIT_ARGS", "")
    if _PYTHON in arguments or re.search(rf"^\s*{re.escape(_PYTHON)}\b", defaults, re.MULTILINE):
        return None
    masters = [*(environment.get(each, "") for each in _MASTER), *_ARGUMENT.findall(arguments)]
    if any(each and not each.startswith("local") for each in [*masters, *_DEFAULT.findall(defaults)]):
        return None
    return None if not executable or (found is not None and _is_same(executable, found)) else executable


def use_own_python() -> None:
    """Set the variable for the next session; do nothing if Spark is not installed or has a session."""
    if "pyspark" in sys.modules:
        context = getattr(sys.modules["pyspark"], "SparkContext", None)  # which a client of Spark Connect does not have
        if context is None or context._active_spark_context is not None:
            return
    elif find_spec("pyspark") is None:
        return
    chosen = choose(os.environ, sys.executable, shutil.which("python3"), read_defaults(os.environ))
    if chosen is not None:
        os.environ[VARIABLE] = chosen


def read_defaults(environment: Mapping[str, str]) -> str:
    """Return the text of spark-defaults.conf; empty if there is none that can be read."""
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    try:
        return Path(folder, "spark-defaults.conf").read_text(errors="replace") if folder else ""
    except OSError:
        return ""


def _is_same(one: str, other: str) -> bool:
    """Return whether both are one Python of one environment: in virtual environments they are links to their base."""
    return Path(one).parent.resolve() == Path(other).parent.resolve() and Path(one).resolve() == Path(other).resolve()
